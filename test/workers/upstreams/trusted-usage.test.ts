import { expect } from 'chai'
import fc from 'fast-check'
import { chatForm } from '../../../src/shared/chat/completions/answer.ts'
import { allInput, chatCharge, settledCost } from '../../../src/shared/terms/pricing.ts'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { trustedUsage, hasReasoned } from '../../../src/workers/upstreams/trusted-usage.ts'
import { anthropicUsage, openaiUsage } from '../../../src/workers/upstreams/usage.ts'

/** A request of 6,000 bytes that allows 300 tokens; its answer has 28 tokens by our own count. */
const bounds = { estimate: { input: 2000, output: 300 }, mostInput: 6000 }
const settledOn = (usage: unknown, more: object = {}, read = openaiUsage) =>
  trustedUsage(read(usage), { bounds, counted: 28, ...more })
const tokensOf = (usage: unknown, more: object = {}) => settledOn(usage, more).tokens

describe('what is believed of a reported usage', () => {
  /** Usage objects as the providers' own documentation shows them, and the counts that they stand for. */
  const RECORDED: [provider: string, usage: object, counts: Tokens][] = [
    [
      'OpenAI, a part of the prompt from its cache',
      {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 120,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      { input: 86, cached: 1920, written: 0, output: 300 },
    ],
    [
      'DeepSeek, hits and misses',
      {
        prompt_tokens: 1500,
        completion_tokens: 20,
        total_tokens: 1520,
        prompt_cache_hit_tokens: 1472,
        prompt_cache_miss_tokens: 28,
      },
      { input: 28, cached: 1472, written: 0, output: 20 },
    ],
    [
      'OpenRouter, read and written',
      {
        prompt_tokens: 10_339,
        completion_tokens: 60,
        total_tokens: 10_399,
        cost: 0.0123,
        prompt_tokens_details: { cached_tokens: 10_318, cache_write_tokens: 12 },
      },
      { input: 9, cached: 10_318, written: 12, output: 60 },
    ],
    [
      'xAI, reasoning outside of the answer',
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        prompt_tokens_details: { text_tokens: 32, audio_tokens: 0, image_tokens: 0, cached_tokens: 6 },
        completion_tokens_details: { reasoning_tokens: 94, audio_tokens: 0 },
      },
      { input: 26, cached: 6, written: 0, output: 103 },
    ],
    [
      'Gemini by its compatible endpoint, without any detail',
      { prompt_tokens: 8, completion_tokens: 12, total_tokens: 20 },
      { input: 8, cached: 0, written: 0, output: 12 },
    ],
  ]
  for (const [provider, usage, counts] of RECORDED) {
    it(`is three disjoint counts of input, and all output: ${provider}`, () => {
      const { tokens, refused } = trustedUsage(openaiUsage(usage), {
        bounds: { estimate: { input: 2000, output: 300 }, mostInput: 12_000 },
        counted: 28,
      })
      expect(tokens).to.include(counts)
      expect(allInput(tokens)).to.equal((usage as { prompt_tokens: number }).prompt_tokens)
      expect(refused).to.deep.equal([])
    })
  }

  it('is three disjoint counts of input, and all output: Anthropic, whose caches stand beside the input', () => {
    const usage = {
      input_tokens: 50,
      cache_creation_input_tokens: 248,
      cache_read_input_tokens: 5000,
      cache_creation: { ephemeral_5m_input_tokens: 248, ephemeral_1h_input_tokens: 1e6 },
      output_tokens: 503,
    }
    const { tokens } = settledOn(usage, {}, anthropicUsage)
    expect(tokens).to.include({ input: 50, cached: 5000, written: 248, output: 503, inputAgain: 248 })
    expect(allInput(tokens)).to.equal(5298)
  })

  /** Input and output that a usage stands for, by 2,000 and 28 of our own, and whether any of it is refused. */
  const RULES: [rule: string, usage: object | null, input: number, output: number, refused?: string[]][] = [
    ['none is our own count of both', null, 2000, 28],
    ['zeros are our own count of both', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 2000, 28],
    [
      'an input of zero is what was charged for',
      { prompt_tokens: 0, completion_tokens: 17, total_tokens: 17 },
      2000,
      17,
    ],
    ['an output of zero is our own count', { prompt_tokens: 11, completion_tokens: 0, total_tokens: 11 }, 11, 28],
    ['input alone has our own count of the output', { prompt_tokens: 11 }, 11, 28],
    ['output alone has the input that was charged for', { completion_tokens: 17 }, 2000, 17],
    ['a total of two sides is no third', { prompt_tokens: 11, completion_tokens: 17, total_tokens: 28 }, 11, 17],
    ['a total that is too small says nothing', { prompt_tokens: 11, completion_tokens: 17, total_tokens: 5 }, 11, 17],
    [
      'reasoning may stand in the total alone',
      { prompt_tokens: 41, completion_tokens: 104, total_tokens: 411 },
      41,
      370,
    ],
    ['output may stand in the total alone', { prompt_tokens: 11, total_tokens: 28 }, 11, 17],
    ['input of a token a byte is possible', { prompt_tokens: 6000, completion_tokens: 17 }, 6000, 17],
    ['input of more is refused', { prompt_tokens: 6001, completion_tokens: 17 }, 2000, 17, ['input']],
    ['output of twice the limit is possible', { prompt_tokens: 11, completion_tokens: 600 }, 11, 600],
    ['output of more is refused', { prompt_tokens: 11, completion_tokens: 601 }, 11, 28, ['output']],
    [
      'a total beyond that too',
      { prompt_tokens: 100, completion_tokens: 17, total_tokens: 9_999_999 },
      100,
      28,
      ['output'],
    ],
    ['both may be', { prompt_tokens: 9e6, completion_tokens: 9e6 }, 2000, 28, ['input', 'output']],
  ]
  for (const [rule, usage, input, output, refused = []] of RULES) {
    it(`${rule}: ${JSON.stringify(usage)}`, () => {
      const { tokens, refused: were } = settledOn(usage)
      expect([allInput(tokens), tokens.output, were]).to.deep.equal([input, output, refused])
    })
  }

  /** The three counts of input and the output of usages whose parts are larger than their whole. */
  const PARTS: [rule: string, usage: object, counts: Tokens][] = [
    [
      'a total that covers all says that the prompt leaves its caches out',
      { prompt_tokens: 100, completion_tokens: 17, total_tokens: 5117, cached_tokens: 5000 },
      { input: 100, cached: 5000, written: 0, output: 17 },
    ],
    [
      'with what was written, and reasoning',
      { prompt_tokens: 100, completion_tokens: 17, total_tokens: 5467, cached_tokens: 5000, cache_write_tokens: 300 },
      { input: 100, cached: 5000, written: 300, output: 67 },
    ],
    [
      'without such a total the parts are not believed',
      { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11, cached_tokens: 11 },
      { input: 10, cached: 0, written: 0, output: 1 },
    ],
    [
      'nor are two of them that are larger together',
      { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 5 } },
      { input: 10, cached: 0, written: 0, output: 1 },
    ],
    [
      'what a total has beyond both is first what a cache had a part in',
      { prompt_tokens: 3000, completion_tokens: 17, total_tokens: 5017, cached_tokens: 2000 },
      { input: 1000, cached: 2000, written: 0, output: 17 },
    ],
    [
      'and only the rest reasoning',
      { prompt_tokens: 3000, completion_tokens: 17, total_tokens: 5117, cached_tokens: 2000 },
      { input: 1000, cached: 2000, written: 0, output: 117 },
    ],
  ]
  for (const [rule, usage, counts] of PARTS) {
    it(`${rule}: ${JSON.stringify(usage)}`, () => expect(tokensOf(usage)).to.include(counts))
  }

  it('counts the words after a report, and refuses none of it', () => {
    const early = { prompt_tokens: 30, completion_tokens: 1 }
    expect(tokensOf(early)).to.include({ input: 30, output: 1 })
    expect(tokensOf(early, { isStale: true })).to.include({ input: 30, output: 28 })
    expect(tokensOf({ ...early, completion_tokens: 99 }, { isStale: true })).to.include({ output: 99 })
  })

  it('knows whether a model has reasoned', () => {
    const reasons = (usage: object) => hasReasoned(openaiUsage(usage)!)
    expect(reasons({ prompt_tokens: 1, completion_tokens: 1, reasoning_tokens: 1 })).to.equal(true)
    expect(reasons({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 9 })).to.equal(true)
    expect(reasons({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })).to.equal(false)
    expect(reasons({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 9, cached_tokens: 7 })).to.equal(false)
  })

  describe('of any usage object at all', () => {
    const name = fc.constantFrom(
      'prompt_tokens',
      'completion_tokens',
      'total_tokens',
      'input_tokens',
      'output_tokens',
      'cached_tokens',
      'cache_read_input_tokens',
      'cache_creation_input_tokens',
      'cache_write_tokens',
      'reasoning_tokens',
      'ephemeral_1h_input_tokens',
      'promptTokens',
      'prompt_cache_hit_tokens',
    )
    const value = fc.oneof(
      { weight: 4, arbitrary: fc.nat(700) },
      { weight: 2, arbitrary: fc.nat(7000) },
      fc.nat(),
      fc.constantFrom<unknown>(0, null, -1, 1.5, '17', 1e300, Number.MAX_SAFE_INTEGER, true, [], {}),
    )
    const details = fc.constantFrom('prompt_tokens_details', 'completion_tokens_details', 'cache_creation')
    const counts = fc.dictionary(name, value)
    const usages = fc
      .tuple(counts, fc.dictionary(details, counts))
      .map(([top, inDetails]): unknown => ({ ...top, ...inDetails }))
    const price = fc.record({
      input: fc.nat(20),
      output: fc.nat(40),
      cachedInput: fc.nat(20),
      cacheWrite: fc.nat(25),
      perCall: fc.nat(3),
      perTokens: fc.constantFrom(1, 10, 1000),
      minimum: fc.nat(2),
    })
    const chats = fc.record({
      usage: fc.oneof(usages, fc.anything()),
      read: fc.constantFrom(openaiUsage, anthropicUsage),
      estimate: fc.record({ input: fc.integer({ min: 1, max: 3000 }), output: fc.integer({ min: 1, max: 400 }) }),
      counted: fc.nat(1000),
      isStale: fc.boolean(),
      price,
    })

    it('settles between zero and twice the pre-charge, and what the client is told adds up to what is billed', () => {
      fc.assert(
        fc.property(chats, ({ usage, read, estimate, counted, isStale, price: rates }) => {
          const mostInput = 3 * estimate.input
          const { tokens } = trustedUsage(read(usage), { bounds: { estimate, mostInput }, counted, isStale })
          for (const count of Object.values(tokens)) expect(Number.isSafeInteger(count) && count >= 0).to.equal(true)
          expect(allInput(tokens)).to.be.within(1, 3 * estimate.input)
          expect(tokens.output).to.be.within(Math.min(counted, 1), 2 * estimate.output)
          const charged = chatCharge(rates, estimate)
          expect(settledCost(rates, tokens, charged)).to.be.within(0, 2 * charged)
          const answer = { id: 'c', object: 'chat.completion', created: 1, choices: [{}] } as const
          const told = JSON.parse(chatForm.output({ ...answer, choices: [{}] }, 'm', tokens)).usage
          expect(told.input_tokens).to.equal(allInput(tokens))
          expect(told.output_tokens).to.equal(tokens.output)
          expect([told.prompt_tokens, told.completion_tokens]).to.deep.equal([told.input_tokens, told.output_tokens])
          expect(told.total_tokens).to.equal(told.prompt_tokens + told.completion_tokens)
          const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = told.prompt_tokens_details ?? {}
          expect(cached + written).to.be.within(0, told.prompt_tokens)
          expect(told.completion_tokens_details?.reasoning_tokens ?? 0).to.be.within(0, told.completion_tokens)
        }),
        { numRuns: 2000 },
      )
    })
  })
})
