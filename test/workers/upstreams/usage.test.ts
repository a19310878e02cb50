import { expect } from 'chai'
import fc from 'fast-check'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { blocksIn } from '../../support/blocks.ts'
import {
  anthropicUsage,
  inputUsage,
  largerUsage,
  openaiUsage,
  reportedCost,
  takeUsage,
} from '../../../src/workers/upstreams/usage.ts'

describe('the usage that an upstream reports', () => {
  /** What providers report: of a chat, with what that is, or as the only input of an answer. */
  const reported = (kind: 'chat' | 'input') =>
    blocksIn('test/upstreams/recorded/usages.txt').flatMap(({ head, lines }) => {
      const [name, of] = head.split(' ')
      return of === kind ? [[name, ...lines.map((line) => JSON.parse(line) as Fields)] as [string, Fields, Fields]] : []
    })

  it('is the input alone where there is no output, under the names of any provider', () => {
    for (const [name, answer] of reported('input')) expect(inputUsage(answer), name).to.include({ input: 400 })
    expect(inputUsage({ usage: {}, data: [] })).to.equal(null)
    expect(openaiUsage({ completion_tokens: 5, total_tokens: 405 }), 'a chat').to.include({ input: 400, output: 5 })
  })

  for (const [name, usage, counts] of reported('chat')) {
    it(`is read under the names of any provider: ${name}`, () => {
      expect(openaiUsage(usage)).to.include({ input: 2000, output: 17, cachesApart: false, ...counts })
    })
  }

  it('has no counts that are texts, fractions, negative, or beyond what a number can hold', () => {
    for (const value of [null, undefined, -1, 1.5, '17', true, [17], { of: 17 }, NaN, Infinity, 1e300]) {
      expect(openaiUsage({ prompt_tokens: 11, completion_tokens: value })).to.include({
        input: 11,
        output: 0,
      })
      expect(openaiUsage({ prompt_tokens: value, completion_tokens: value, total_tokens: value })).to.equal(null)
    }
    for (const nothing of [null, undefined, 'much', 5, [], {}]) expect(openaiUsage(nothing)).to.equal(null)
  })

  it('is nothing where all of it is zero', () => {
    expect(openaiUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })).to.equal(null)
    expect(anthropicUsage({ input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 })).to.equal(null)
    expect(anthropicUsage({ input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 5 })).to.include({ cached: 5 })
  })

  it('of Anthropic names what bills double: writes to a cache for an hour', () => {
    const usage = { input_tokens: 10, cache_creation_input_tokens: 100, cache_read_input_tokens: 5, output_tokens: 3 }
    const hour = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 70 }
    expect(anthropicUsage({ ...usage, cache_creation: hour })).to.include({
      input: 10,
      cached: 5,
      written: 100,
      output: 3,
      repeated: 70,
      cachesApart: true,
    })
    for (const garbage of [undefined, null, -5, '70']) {
      const read = anthropicUsage({ ...usage, cache_creation: { ephemeral_1h_input_tokens: garbage } })
      expect(read, String(garbage)).to.include({ input: 10, cached: 5, written: 100, repeated: 0 })
    }
  })

  it('is cumulative: of two reports the larger of each count stands, in any order', () => {
    const count = fc.record({ prompt_tokens: fc.nat(50), completion_tokens: fc.nat(50), cached_tokens: fc.nat(50) })
    fc.assert(
      fc.property(fc.array(count, { minLength: 1 }), (reports) => {
        const usages = reports.map(openaiUsage).filter((one) => one !== null)
        const all = usages.reduce<ReturnType<typeof openaiUsage>>(largerUsage, null)
        const most = (name: keyof (typeof reports)[number]) =>
          Math.max(...reports.filter((one) => openaiUsage(one) !== null).map((one) => one[name]))
        if (usages.length === 0) expect(all).to.equal(null)
        else
          expect(all).to.include({
            input: most('prompt_tokens'),
            output: most('completion_tokens'),
            cached: most('cached_tokens'),
          })
        expect(usages.toReversed().reduce<ReturnType<typeof openaiUsage>>(largerUsage, null)).to.deep.equal(all)
      }),
    )
  })

  describe('stands wherever its provider puts it', () => {
    const usage = { prompt_tokens: 11, completion_tokens: 17, total_tokens: 28 }
    const choice = { index: 0, delta: { content: 'a' }, finish_reason: null }
    const PLACES: [where: string, chunk: Record<string, unknown>, rest: Record<string, unknown>][] = [
      ['at the top', { id: 'c', choices: [], usage }, { id: 'c', choices: [] }],
      ['at the top, under another name', { id: 'c', usageMetadata: usage }, { id: 'c' }],
      [
        'in an object of the provider',
        { x_groq: { id: 'r', usage }, choices: [choice] },
        { x_groq: { id: 'r' }, choices: [choice] },
      ],
      ['deeper', { response: { metadata: { usage } } }, { response: { metadata: {} } }],
      ['in a choice', { choices: [{ ...choice, usage }] }, { choices: [choice] }],
      ['in a delta', { choices: [{ ...choice, delta: { content: 'a', usage } }] }, { choices: [choice] }],
    ]
    for (const [where, chunk, rest] of PLACES) {
      it(`${where}, and goes to no customer`, () => {
        const taken = takeUsage(chunk)
        expect(taken.usage).to.include({ input: 11, output: 17, total: 28 })
        expect(taken.rest).to.deep.equal(rest)
      })
    }

    it('but never in the words of an answer, which a model may write', () => {
      const call = { id: 't', type: 'function', function: { name: 'f', arguments: { usage } } }
      const message = { content: [{ type: 'text', text: 'a', usage }], tool_calls: [call], parsed: { usage } }
      const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
      expect(takeUsage(answer)).to.deep.equal({ usage: null, rest: answer })
    })
  })

  it('says what an answer cost in dollars as whole micro-dollars, exactly, and rounds up what is less than one', () => {
    const costs: [unknown, number | null][] = [
      [0.00014, 140],
      [0.1, 100_000],
      [1.000001, 1_000_001],
      [0.29, 290_000],
      [1e-7, 1],
      [1.5e-6, 2],
      [0, 0],
      [12, 12_000_000],
      [-1, null],
      ['0.1', null],
      [1e300, null],
      [null, null],
      [{ total_cost: 1 }, null],
    ]
    for (const [cost, expected] of costs) expect(reportedCost({ cost }), String(cost)).to.equal(expected)
    const byok = { cost: 0.001, is_byok: true, cost_details: { upstream_inference_cost: 0.02 } }
    expect(reportedCost(byok)).to.equal(21_000)
    expect(reportedCost({ cost: 0.001, is_byok: true }), 'the bill of the vendor is not known').to.equal(null)
    expect(openaiUsage({ prompt_tokens: 1, completion_tokens: 1, cost: 0.5 })).to.include({ costMicroUsd: 500_000 })
  })
})
