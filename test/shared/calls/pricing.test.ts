import { expect } from 'chai'
import fc from 'fast-check'
import { MAX_CALL_CREDITS, chatCost, costOf, countOutput, estimateTokens, outputLimit } from '../../../src/shared/calls/pricing.ts'

const price = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const user = (content: unknown): unknown[] => [{ role: 'user', content }]

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
    expect(chatCost({ ...dear, perTokens: 1_000_000_000 }, { input: 9_007_199_254_740_991, output: 0 })).to.equal(MAX_CALL_CREDITS)
    expect(chatCost({ ...dear, perTokens: 1_000_000 }, { input: 123_456_789, output: 987_654_321 })).to.equal(1_000_000_000_000)
    expect(chatCost({ input: 999_999_999, output: 0, perTokens: 1_000_000_000, minimum: 0 }, { input: 10_000_001, output: 0 })).to.equal(10_000_001)
  })

  it('never falls when there are more tokens', () => {
    fc.assert(fc.property(fc.nat(1e7), fc.nat(1e7), fc.nat(1e4), (input, output, more) =>
      chatCost(price, { input: input + more, output: output + more }) >= chatCost(price, { input, output })))
  })

  it('is fixed for media', () => {
    expect(costOf({ credits: 40 }, { input: 9, output: 9 })).to.equal(40)
  })
})

describe('the pre-charge of a chat', () => {
  it('counts a third of the UTF-8 bytes of messages and tools as input, and max_tokens × n as output', () => {
    const messages = user('Grüße, 你好 😀')
    const tools = [{ type: 'function', function: { name: 'now' } }]
    expect(estimateTokens({ messages, tools, max_tokens: 100, n: 3 }, undefined))
      .to.deep.equal({ input: Math.ceil((bytes(messages) + bytes(tools)) / 3), output: 300 })
  })

  it('assumes 1024 output tokens where none are named, and never more than the model allows', () => {
    const estimate = (max_tokens: number | undefined, most?: number): number => estimateTokens({ messages: user('x'), max_tokens }, most).output
    expect(estimate(undefined)).to.equal(1024)
    expect(estimate(undefined, 500)).to.equal(500)
    expect(estimate(800, 500)).to.equal(500)
    expect(estimate(300, 500)).to.equal(300)
    expect(outputLimit(undefined, 4096)).to.equal(1024)
  })

  it('counts an image part as 1,000 tokens, and not the bytes of its data URI', () => {
    const withImage = (url: string): unknown[] => user([{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url } }])
    const small = estimateTokens({ messages: withImage('') }, undefined)
    expect(small.input).to.equal(Math.ceil(bytes(withImage('')) / 3) + 1000)
    expect(estimateTokens({ messages: withImage(`data:image/png;base64,${'A'.repeat(300_000)}`) }, undefined)).to.deep.equal(small)
  })

  it('counts text that only looks like a data URI: nobody sends a book for nothing', () => {
    const text = `data:${'A'.repeat(3000)}`
    expect(estimateTokens({ messages: user(text) }, undefined).input).to.be.above(1000)
    expect(estimateTokens({ messages: user([{ type: 'text', text }]) }, undefined).input).to.be.above(1000)
  })

  it('takes no longer for one repeated character than for any other text', () => {
    const started = performance.now()
    estimateTokens({ messages: user('a'.repeat(1_000_000)) }, undefined)
    expect(performance.now() - started).to.be.below(500)
  })

  it('has a count of its own for answers without usage', () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }]
    expect(countOutput(choices)).to.equal(Math.ceil(bytes(choices) / 3))
  })
})
