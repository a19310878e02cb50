import { expect } from 'chai'
import { checkResponses } from '../../../../src/shared/chat/responses/check.ts'

describe('a request of the Responses API', () => {
  it("has none of what Codex notes on its items for OpenAI's own service", () => {
    const message = { type: 'message', role: 'user', content: 'hello' }
    const noted = { ...message, internal_chat_message_metadata_passthrough: { turn_id: 'x' } }
    const { request } = checkResponses({ model: 'm', input: [noted, message] }, { upstreams: [] })
    expect(request.input).to.deep.equal([message, message])
  })
})
