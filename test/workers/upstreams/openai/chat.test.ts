import { expect } from 'chai'
import type { RouteChanges } from '../sandbox-upstreams.ts'
import { chatOf, contextOf, routeTo } from '../sandbox-upstreams.ts'
import { OPENAI_CHAT } from '../../../../src/workers/upstreams/openai/chat.ts'
import { asked } from '../../../../src/workers/upstreams/protocol.ts'

describe('a chat request to an OpenAI-compatible upstream', () => {
  const sent = (more: Record<string, unknown>, changes?: RouteChanges, stream = false) => {
    const context = contextOf(routeTo('openai', 'http://x.test', changes))
    return asked(OPENAI_CHAT, chatOf('hello', more), context, stream).body
  }

  it("has every listed field, the upstream's name of the model, and what the route allows", () => {
    const listed = { model: 'ours', temperature: 0.3, seed: 7, logit_bias: { 1: 2 } }
    const further = { service_tier: 'flex', something_new: { deep: [1] } }
    expect(sent({ ...listed, ...further }))
      .to.deep.include({ ...listed, model: 'some/model', max_tokens: 100 })
      .and.not.to.have.any.keys(further)
    expect(sent({ ...listed, ...further }, { allow: ['service_tier'] }))
      .to.include({ service_tier: 'flex' })
      .and.not.to.have.property('something_new')
    const changes = { allow: ['service_tier'], set: { service_tier: 'default' } }
    expect(sent(further, changes)).to.include({ service_tier: 'default' })
  })

  it('never allows more output than was paid for, by either name', () => {
    const more = { max_completion_tokens: 100_000 }
    expect(sent(more)).to.include({ max_tokens: 100 }).and.not.to.have.property('max_completion_tokens')
    const renamed = sent(more, { rename: { max_tokens: 'max_completion_tokens' } })
    expect(renamed).to.include({ max_completion_tokens: 100 }).and.not.to.have.property('max_tokens')
  })

  it('requests the usage of a stream, even if the client does not', () => {
    const options = { include_usage: false, include_obfuscation: false }
    const body = sent({ stream_options: options }, {}, true)
    expect(body).to.deep.include({ stream: true, stream_options: { ...options, include_usage: true } })
    const whole = sent({ stream_options: { include_usage: true } })
    expect(whole).to.include({ stream: false }).and.not.to.have.property('stream_options')
  })
})
