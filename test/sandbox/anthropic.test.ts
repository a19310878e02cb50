import { expect } from 'chai'
import { eventsOf, prompted, send, useSandbox } from './support/client.ts'
import type { Answer, Fields } from './support/client.ts'

const HEADERS = { 'x-api-key': 'made-up', 'anthropic-version': '2023-06-01' }
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

describe('the sandbox as Anthropic', () => {
  const own = useSandbox()

  function message(content: unknown, more: Fields = {}, headers: Record<string, string> = HEADERS): Promise<Answer> {
    const json = { model: 'claude-sandbox', max_tokens: 100, messages: [{ role: 'user', content }], ...more }
    return send(`${own.url}/anthropic/v1/messages`, { json, headers })
  }

  it('answers a message with its usage', async () => {
    const answer = (await message('hello', { system: 'Be kind.' })).json()
    expect(answer).to.include({ type: 'message', role: 'assistant', stop_reason: 'end_turn', model: 'claude-sandbox' })
    expect(answer['content'][0])
      .to.include({ type: 'text' })
      .and.property('text')
      .match(/sandbox/)
    expect(answer['usage'].input_tokens).to.be.above(0)
    expect(answer['usage'].output_tokens).to.be.above(0)
  })

  it('streams the same text between message_start and message_stop', async () => {
    const [whole, answer] = [(await message('hello')).json(), await message('hello', { stream: true })]
    const events = eventsOf(answer.text)
    expect(events.map((event) => event['type']).filter((type) => type !== 'content_block_delta')).to.deep.equal([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    const text = events.map((event) => event['delta']?.text ?? '').join('')
    expect(text).to.equal(whole['content'][0].text)
    expect(events[0]!['message'].usage.input_tokens).to.equal(whole['usage'].input_tokens)
    expect(events.at(-2)!['usage'].output_tokens).to.equal(whole['usage'].output_tokens)
    expect(answer.text).to.match(/^event: message_start\ndata: /)
  })

  it('calls a tool, whole and in pieces', async () => {
    const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
    const whole = (await message('[tool]', { tools })).json()
    expect(whole['stop_reason']).to.equal('tool_use')
    expect(whole['content'][0]).to.deep.include({ type: 'tool_use', name: 'weather', input: { city: 'sandbox' } })
    const events = eventsOf((await message('[tool]', { tools, stream: true })).text)
    const pieces = events.map((event) => event['delta']?.partial_json ?? '').join('')
    expect(JSON.parse(pieces)).to.deep.equal({ city: 'sandbox' })
  })

  it('stops at max_tokens', async () => {
    const answer = (await message('[tokens 50]', { max_tokens: 5 })).json()
    expect(answer['stop_reason']).to.equal('max_tokens')
    expect(answer['usage'].output_tokens).to.equal(5)
  })

  it('takes images by address and as base64, and refuses bytes that are not an image', async () => {
    const image = (source: Fields): unknown => [
      { type: 'text', text: 'look' },
      { type: 'image', source },
    ]
    const base64 = { type: 'base64', media_type: 'image/gif', data: PIXEL }
    expect((await message(image({ type: 'url', url: 'https://example.com/x.png' }))).status).to.equal(200)
    expect((await message(image(base64))).status).to.equal(200)
    expect((await message(image({ ...base64, data: 'aGVsbG8=' }))).status).to.equal(400)
    expect((await message(image({ ...base64, media_type: 'image/svg+xml' }))).status).to.equal(400)
  })

  it('requires a key, a version, max_tokens and known roles', async () => {
    const noKey = await message('hi', {}, { 'anthropic-version': '2023-06-01', authorization: 'Bearer made-up' })
    expect([noKey.status, noKey.json()['error'].type]).to.deep.equal([401, 'authentication_error'])
    const noVersion = await message('hi', {}, { 'x-api-key': 'made-up' })
    expect([noVersion.status, noVersion.json()['error'].type]).to.deep.equal([400, 'invalid_request_error'])
    expect((await message('hi', { max_tokens: undefined })).status).to.equal(400)
    expect((await message('', { messages: [{ role: 'system', content: 'x' }] })).status).to.equal(400)
    expect((await message('hi', { temperature: 1.5 })).status).to.equal(400)
    expect((await message('hi', { model: 'claude-reasoning', temperature: 1 })).status).to.equal(400)
  })

  it('has its own error envelope: overloaded, rate, spent credit', async () => {
    const overloaded = await message('[status 529]')
    expect([overloaded.status, overloaded.json()['type']]).to.deep.equal([529, 'error'])
    expect(overloaded.json()['error'].type).to.equal('overloaded_error')
    const limited = await message('[status 429 retry-after 7]')
    expect([limited.json()['error'].type, limited.headers['retry-after']]).to.deep.equal(['rate_limit_error', '7'])
    expect((await message('[quota]')).json()['error'].type).to.equal('billing_error')
  })

  it('sends an error event in the middle of a stream when asked to', async () => {
    const events = eventsOf((await message(prompted('[error-after 2]'), { stream: true })).text)
    expect(events.filter((event) => event['type'] === 'content_block_delta')).to.have.length(2)
    expect(events.at(-1)).to.deep.include({ type: 'error' })
  })

  it('leaves out message_stop, the usage, the content when asked to', async () => {
    const streamed = eventsOf((await message('[no-done]', { stream: true })).text)
    expect(streamed.at(-1)!['type']).to.equal('message_delta')
    expect((await message('[no-usage]')).json()).not.to.have.property('usage')
    expect((await message('[empty]')).json()['content']).to.deep.equal([])
  })
})
