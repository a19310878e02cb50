import { expect } from 'chai'
import { openaiUsage } from '../../../src/workers/upstreams/usage.ts'
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
    ).to.include({ input: 115, output: 3, inputAgain: 70 })
    expect(usageOf({ ...usage, cache_creation: { ephemeral_1h_input_tokens: 1e6 } })).to.include({ inputAgain: 100 })
    for (const garbage of [undefined, null, -5, '70']) {
      expect(usageOf({ ...usage, cache_creation: { ephemeral_1h_input_tokens: garbage } }), String(garbage))
        .to.include({ input: 115 })
        .and.not.to.have.property('inputAgain')
    }
  })
})
