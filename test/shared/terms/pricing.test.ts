import { expect } from 'chai'
import { MAX_CALL_CREDITS, chatCost, mediaCost, outputLimit, tokensOfPart } from '../../../src/shared/terms/pricing.ts'
import type { CountedChat } from '../../../src/shared/chat/completions/estimate.ts'
import { estimateChat } from '../../../src/shared/chat/completions/estimate.ts'
import type { CountingRules } from '../../../src/shared/terms/pricing.ts'
import { cpuRatio } from '../../support/pace.ts'

const price = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const user = (content: unknown): { role: string; content?: unknown }[] => [{ role: 'user', content }]

describe('what a call costs', () => {
  it('is max(minimum, ceil((input × price + output × price) / perTokens))', () => {
    expect(chatCost(price, { input: 0, output: 0 })).to.equal(1)
    expect(chatCost(price, { input: 1000, output: 0 })).to.equal(1)
    expect(chatCost(price, { input: 1001, output: 0 })).to.equal(2)
    expect(chatCost(price, { input: 1500, output: 500 })).to.equal(3)
    expect(chatCost({ ...price, minimum: 50 }, { input: 1500, output: 500 })).to.equal(50)
    expect(chatCost({ ...price, minimum: 0 }, { input: 0, output: 0 })).to.equal(0)
  })

  it('is exact beyond 2^53, and bounded: no product of tokens and prices overflows', () => {
    const dear = { input: 1_000_000_000, output: 1_000_000_000, perTokens: 1, minimum: 1 }
    expect(chatCost(dear, { input: 10_000_000, output: 10_000_000 })).to.equal(MAX_CALL_CREDITS)
    expect(chatCost({ ...dear, perTokens: 1_000_000_000 }, { input: 9_007_199_254_740_991, output: 0 })).to.equal(
      MAX_CALL_CREDITS,
    )
    expect(chatCost({ ...dear, perTokens: 1_000_000 }, { input: 123_456_789, output: 987_654_321 })).to.equal(
      1_000_000_000_000,
    )
    expect(
      chatCost(
        { input: 999_999_999, output: 0, perTokens: 1_000_000_000, minimum: 0 },
        { input: 10_000_001, output: 0 },
      ),
    ).to.equal(10_000_001)
  })

  it('is fixed for media', () => {
    expect(mediaCost({ credits: 40 }, { duration: 9 })).to.equal(40)
  })
})

describe('the pre-charge of a chat', () => {
  const PICTURE = `data:image/png;base64,${'A'.repeat(300_000)}`
  const input = (body: object, rules: CountingRules = {}): number => estimateChat(body as CountedChat, rules).input

  it('counts a third of the UTF-8 bytes of the whole body as input, and max_tokens × n as output', () => {
    const body = {
      model: 'm',
      messages: user('Grüße, 你好 😀'),
      tools: [{ type: 'function', function: { name: 'now' } }],
      max_tokens: 100,
      n: 3,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { enum: ['long'] } } },
      metadata: { a: 'b' },
    }
    expect(estimateChat(body, {})).to.deep.equal({ input: Math.ceil(bytes(body) / 3), output: 300 })
  })

  it('counts more tokens if the model has fewer bytes a token', () => {
    const body = { messages: user('x'.repeat(1000)) }
    expect(input(body, { bytesPerToken: 1 })).to.equal(bytes(body))
    expect(input(body, { bytesPerToken: 2.5 })).to.equal(Math.ceil(bytes(body) / 2.5))
  })

  it('assumes 1024 output tokens by default, and never more than the model allows', () => {
    const estimate = (max_tokens: number | null | undefined, maxOutputTokens?: number): number =>
      estimateChat({ messages: user('x'), max_tokens }, { maxOutputTokens }).output
    expect(estimate(undefined)).to.equal(1024)
    expect(estimate(null)).to.equal(1024)
    expect(estimate(undefined, 500)).to.equal(500)
    expect(estimate(800, 500)).to.equal(500)
    expect(estimate(300, 500)).to.equal(300)
    expect(estimateChat({ messages: user('x'), max_completion_tokens: 7, n: null }, {}).output).to.equal(7)
    expect(outputLimit(undefined, { maxOutputTokens: 4096 })).to.equal(1024)
  })

  it("counts an image as 1,500 tokens or the model's number, and not the bytes of its data: URI", () => {
    const shown = (image_url: unknown) => ({
      messages: user([
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url },
      ]),
    })
    for (const given of [(url: string) => ({ url }), (url: string) => ({ url, detail: 'low' }), (url: string) => url]) {
      expect(input(shown(given(PICTURE)))).to.equal(Math.ceil(bytes(shown(given(''))) / 3) + 1500)
    }
    const byAddress = shown({ url: 'https://example.com/a.png' })
    expect(input(byAddress)).to.equal(Math.ceil(bytes(byAddress) / 3) + 1500)
    expect(input(byAddress, { partTokens: { image: 90 } })).to.equal(Math.ceil(bytes(byAddress) / 3) + 90)
  })

  it("counts a part of another kind by the model's number and by its bytes", () => {
    const body = {
      messages: user([
        { type: 'input_audio', input_audio: { data: 'A'.repeat(3000), format: 'wav' } },
        { type: 'video_url', video_url: { url: PICTURE } },
      ]),
    }
    expect(input(body, { partTokens: { input_audio: 70, video: 5000 } })).to.equal(Math.ceil(bytes(body) / 3) + 5070)
  })

  it('has no number for a kind that the model does not price, whatever its name', () => {
    for (const type of ['file', 'image', 'toString', '__proto__', '_url', '', 5, null, undefined]) {
      expect(tokensOfPart(type, { image: 1, video_url: 2 }), String(type)).to.equal(null)
    }
    expect(tokensOfPart('video_url', { video_url: 2 })).to.equal(2)
  })

  const ELSEWHERE: [where: string, body: Record<string, unknown>][] = [
    ['a text', { messages: user(PICTURE) }],
    ['a text part', { messages: user([{ type: 'text', text: PICTURE }]) }],
    [
      'a url in response_format',
      {
        messages: user('x'),
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { default: { url: PICTURE } } } },
      },
    ],
    [
      'an image_url in functions',
      { messages: user('x'), functions: [{ name: 'f', parameters: { image_url: { url: PICTURE } } }] },
    ],
    [
      'data in a prediction',
      {
        messages: user('x'),
        prediction: { type: 'content', content: [{ type: 'image_url', image_url: PICTURE, data: PICTURE }] },
      },
    ],
    ['a file part', { messages: user([{ type: 'file', file: { file_data: PICTURE } }]) }],
    ['a video part', { messages: user([{ type: 'video_url', video_url: { url: PICTURE } }]) }],
    [
      "a tool's parameters",
      {
        messages: user('x'),
        tools: [{ type: 'function', function: { name: 'f', parameters: { default: { url: PICTURE } } } }],
      },
    ],
    [
      "a tool call's arguments",
      { messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: PICTURE } }] }] },
    ],
    ['a part within a part', { messages: user([{ type: 'x', content: [{ type: 'image_url', image_url: PICTURE }] }]) }],
  ]
  for (const [where, body] of ELSEWHERE) {
    it(`counts every byte of a data: URI outside an image: ${where}`, () => {
      expect(input(body))
        .to.equal(Math.ceil(bytes(body) / 3))
        .and.to.be.above(100_000)
    })
  }

  it('counts a prediction as output too, for every choice, since its unused part is billed so', () => {
    const prediction = { type: 'content', content: 'x'.repeat(30_000) }
    const { input: asked, output } = estimateChat({ messages: user('x'), max_tokens: 10, n: 2, prediction }, {})
    expect(output).to.be.within(2 * 10_010, 2 * 10_050)
    expect(asked).to.be.above(10_000)
    expect(estimateChat({ messages: user('x'), max_tokens: 10, prediction: null }, {}).output).to.equal(10)
  })

  it('takes no longer for one repeated character than for any other text', () => {
    const one = { messages: user('a'.repeat(1_000_000)) }
    const other = { messages: user('lorem ipsum '.repeat(83_333)) }
    const ratio = cpuRatio(
      () => estimateChat(one, {}),
      () => estimateChat(other, {}),
    )
    expect(ratio).to.be.below(10)
  })
})
