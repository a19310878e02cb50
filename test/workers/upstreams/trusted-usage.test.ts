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

  const used = (prompt_tokens?: number, completion_tokens?: number, total_tokens?: number, more: object = {}) => ({
    ...(prompt_tokens !== undefined && { prompt_tokens }),
    ...(completion_tokens !== undefined && { completion_tokens }),
    ...(total_tokens !== undefined && { total_tokens }),
    ...more,
  })

  /** Input and output that a usage stands for, by 2,000 and 28 of our own, and whether any of it is refused. */
  const RULES: [rule: string, usage: object | null, input: number, output: number, refused?: string[]][] = [
    ['none is our own count of both', null, 2000, 28],
    ['zeros are our own count of both', used(0, 0, 0), 2000, 28],
    ['an input of zero is what was charged for', used(0, 17, 17), 2000, 17],
    ['an output of zero is our own count', used(11, 0, 11), 11, 28],
    ['input alone has our own count of the output', used(11), 11, 28],
    ['output alone has the input that was charged for', used(undefined, 17), 2000, 17],
    ['a total of two sides is no third', used(11, 17, 28), 11, 17],
    ['a total that is too small says nothing', used(11, 17, 5), 11, 17],
    ['reasoning may stand in the total alone', used(41, 104, 411), 41, 370],
    ['output may stand in the total alone', used(11, undefined, 28), 11, 17],
    ['input of a token a byte is possible', used(6000, 17), 6000, 17],
    ['input of more is refused', used(6001, 17), 2000, 17, ['input']],
    ['output of twice the limit is possible', used(11, 600), 11, 600],
    ['output of more is refused', used(11, 601), 11, 28, ['output']],
    ['a total beyond that too', used(100, 17, 9_999_999), 100, 28, ['output']],
    ['both may be', used(9e6, 9e6), 2000, 28, ['input', 'output']],
  ]
  for (const [rule, usage, input, output, refused = []] of RULES) {
    it(`${rule}: ${JSON.stringify(usage)}`, () => {
      const { tokens, refused: were } = settledOn(usage)
      expect([allInput(tokens), tokens.output, were]).to.deep.equal([input, output, refused])
    })
  }

  const tokens = (input: number, cached: number, written: number, output: number): Tokens => ({
    input,
    cached,
    written,
    output,
  })
  const details = { cached_tokens: 6, cache_write_tokens: 5 }

  /** What usages stand for of whose input a cache had a part, or whose parts are larger than their whole. */
  const PARTS: [rule: string, usage: object, counts: Tokens][] = [
    [
      'a total may have reasoning outside of the answer, next to a cache',
      used(32, 9, 135, { cached_tokens: 6, completion_tokens_details: { reasoning_tokens: 94 } }),
      tokens(26, 6, 0, 103),
    ],
    [
      'a total that covers all says that the prompt leaves its caches out',
      used(100, 17, 5117, { cached_tokens: 5000 }),
      tokens(100, 5000, 0, 17),
    ],
    [
      'with what was written, and reasoning',
      used(100, 17, 5467, { cached_tokens: 5000, cache_write_tokens: 300 }),
      tokens(100, 5000, 300, 67),
    ],
    ['without such a total the parts are not believed', used(10, 1, 11, { cached_tokens: 11 }), tokens(10, 0, 0, 1)],
    [
      'nor are two of them that are larger together',
      used(10, 1, undefined, { prompt_tokens_details: details }),
      tokens(10, 0, 0, 1),
    ],
    [
      'what a total has beyond both is first what a cache had a part in',
      used(3000, 17, 5017, { cached_tokens: 2000 }),
      tokens(1000, 2000, 0, 17),
    ],
    ['and only the rest reasoning', used(3000, 17, 5117, { cached_tokens: 2000 }), tokens(1000, 2000, 0, 117)],
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
    const NAMES =
      'prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens ' +
      'cache_read_input_tokens cache_creation_input_tokens cache_write_tokens reasoning_tokens ' +
      'ephemeral_1h_input_tokens promptTokens prompt_cache_hit_tokens'
    const name = fc.constantFrom(...NAMES.split(' '))
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
