import { expect } from 'chai'
import { allInput } from '../../../src/shared/calls/pricing.ts'
import type { Tokens } from '../../../src/shared/calls/pricing.ts'
import { openaiUsage, reportedCost } from '../../../src/workers/upstreams/usage.ts'
import { usageOf } from '../../../src/workers/upstreams/anthropic/answer.ts'

describe('the usage that an upstream reports', () => {
  it('has reasoning in its output that only the total counts', () => {
    expect(openaiUsage({ prompt_tokens: 41, completion_tokens: 104, total_tokens: 411 })).to.include({
      input: 41,
      output: 370,
    })
  })

  it('is the completion where the total says no more, or makes no sense', () => {
    for (const total of [145, 100, 0, -1, 1.5, '411', null, undefined, 1e300, Number.MAX_SAFE_INTEGER]) {
      expect(openaiUsage({ prompt_tokens: 41, completion_tokens: 104, total_tokens: total }), String(total)).to.include(
        { input: 41, output: 104 },
      )
    }
    expect(openaiUsage({ prompt_tokens: 41, completion_tokens: 'many', total_tokens: 411 })).to.equal(null)
  })

  it('of Anthropic names what bills double: writes to a cache for an hour', () => {
    const usage = { input_tokens: 10, cache_creation_input_tokens: 100, cache_read_input_tokens: 5, output_tokens: 3 }
    expect(
      usageOf({ ...usage, cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 70 } }),
    ).to.include({ input: 10, cached: 5, written: 100, output: 3, inputAgain: 70 })
    expect(usageOf({ ...usage, cache_creation: { ephemeral_1h_input_tokens: 1e6 } })).to.include({ inputAgain: 100 })
    for (const garbage of [undefined, null, -5, '70']) {
      expect(usageOf({ ...usage, cache_creation: { ephemeral_1h_input_tokens: garbage } }), String(garbage))
        .to.include({ input: 10, cached: 5, written: 100 })
        .and.not.to.have.property('inputAgain')
    }
  })

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
      'xAI, reasoning outside of the completion',
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
      const read = openaiUsage(usage)!
      expect(read).to.include(counts)
      expect(allInput(read)).to.equal((usage as { prompt_tokens: number }).prompt_tokens)
    })
  }

  it('is three disjoint counts of input, and all output: Anthropic, whose caches stand beside the input', () => {
    const usage = {
      input_tokens: 50,
      cache_creation_input_tokens: 248,
      cache_read_input_tokens: 100_000,
      cache_creation: { ephemeral_5m_input_tokens: 248, ephemeral_1h_input_tokens: 0 },
      output_tokens: 503,
    }
    const read = usageOf(usage)!
    expect(read).to.include({ input: 50, cached: 100_000, written: 248, output: 503 })
    expect(allInput(read)).to.equal(100_298)
  })

  it('believes in no part of a prompt that is larger than the prompt', () => {
    const claims = [
      { prompt_tokens_details: { cached_tokens: 11 } },
      { prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 5 } },
      { prompt_tokens_details: { cached_tokens: -3 } },
      { prompt_tokens_details: { cached_tokens: '5' } },
      { prompt_tokens_details: 'all of it' },
      { prompt_cache_hit_tokens: 1e9 },
    ]
    for (const claim of claims) {
      const read = openaiUsage({ prompt_tokens: 10, completion_tokens: 1, ...claim })!
      expect(read, JSON.stringify(claim)).to.include({ input: 10, cached: 0, written: 0 })
    }
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
