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

  it('thinks, speaks and calls several tools in one answer, whole and streamed', async () => {
    const tools = ['weather', 'clock'].map((name) => ({ name, input_schema: { type: 'object' } }))
    const asked = { tools, max_tokens: 3000, thinking: { type: 'enabled', budget_tokens: 2000 } }
    const prompt = '[tools 3] [answer Let me see.] [thoughts What now]'
    const { content, usage, stop_reason: reason } = (await message(prompt, asked)).json()
    expect(reason).to.equal('tool_use')
    expect(content.map(({ type, name }: Fields) => name ?? type)).to.deep.equal([
      'thinking',
      'text',
      'weather',
      'clock',
      'weather',
    ])
    expect(content[0]).to.include({ thinking: 'What now' }).and.property('signature').match(/.{40}/)
    expect(new Set(content.map(({ id }: Fields) => id)).size).to.equal(4)
    expect(usage.output_tokens).to.be.above(usage.output_tokens_details.thinking_tokens)
    const events = eventsOf((await message(prompt, { ...asked, stream: true })).text)
    const begun = events.filter((event) => event['type'] === 'content_block_start')
    expect(begun.map((event) => event['index'])).to.deep.equal([0, 1, 2, 3, 4])
    const ofFirst = events.filter((event) => event['type'] === 'content_block_delta' && event['index'] === 0)
    expect(ofFirst.map((event) => event['delta'].type)).to.deep.equal([
      'thinking_delta',
      'thinking_delta',
      'signature_delta',
    ])
    const one = await message(prompt, { ...asked, tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
    expect(one.json()['content'].filter(({ type }: Fields) => type === 'tool_use')).to.have.lengthOf(1)
  })

  it('calls the tools that a request forces, and none where it forbids them', async () => {
    const tools = ['weather', 'clock'].map((name) => ({ name, input_schema: { type: 'object' } }))
    const called = async (prompt: string, choice: Fields): Promise<string[]> =>
      (await message(prompt, { tools, tool_choice: choice }))
        .json()
        ['content'].flatMap(({ name }: Fields) => name ?? [])
    expect(await called('hello', { type: 'auto' })).to.deep.equal([])
    expect(await called('hello', { type: 'any' })).to.deep.equal(['weather'])
    expect(await called('[tools 2]', { type: 'any' })).to.deep.equal(['weather', 'clock'])
    expect(await called('[tool]', { type: 'tool', name: 'clock' })).to.deep.equal(['clock'])
    expect(await called('[tools 2]', { type: 'none' })).to.deep.equal([])
  })

  it('answers JSON that fits the schema of the request', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const asked = { output_config: { format: { type: 'json_schema', schema } } }
    const { content } = (await message('[answer Rome]', asked)).json()
    expect(JSON.parse(content[0].text)).to.deep.equal({ city: 'Rome' })
  })

  it('only signs thoughts that are to be left out, and counts them where that is asked for', async () => {
    const asked = { thinking: { type: 'adaptive', display: 'omitted' }, stream: true }
    const headers = { ...HEADERS, 'anthropic-beta': 'thinking-token-count-2026-05-13' }
    const deltas = async (given: Record<string, string>) =>
      eventsOf((await message('[thoughts one two]', asked, given)).text)
        .filter((event) => event['type'] === 'content_block_delta' && event['index'] === 0)
        .map(({ delta: { signature: _signature, ...delta } }) => delta)
    expect(await deltas(HEADERS)).to.deep.equal([{ type: 'signature_delta' }])
    expect(await deltas(headers)).to.deep.equal([
      { type: 'thinking_delta', thinking: '', estimated_tokens: 2 },
      { type: 'signature_delta' },
    ])
  })

  it('stops before a stop sequence, and says which', async () => {
    const asked = { stop_sequences: ['four', 'three'] }
    const answer = (await message('[answer one two three four]', asked)).json()
    expect(answer).to.deep.include({ stop_reason: 'stop_sequence', stop_sequence: 'three' })
    expect(answer['content'][0].text).to.equal('one two ')
    const events = eventsOf((await message('[answer one two three]', { ...asked, stream: true })).text)
    expect(events.at(-2)!['delta']).to.deep.equal({ stop_reason: 'stop_sequence', stop_sequence: 'three' })
  })

  it('reads a marked prefix from its cache the next time, wherever the mark has gone', async () => {
    const mark = { cache_control: { type: 'ephemeral' } }
    const system = [{ type: 'text', text: `${prompted()} ${'long '.repeat(200)}`, ...mark }]
    const first = (await message([{ type: 'text', text: 'one', ...mark }], { system })).json()['usage']
    expect(first).to.include({ cache_read_input_tokens: 0 })
    expect(first.cache_creation_input_tokens).to.be.above(200)
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: [{ type: 'text', text: 'three', ...mark }] },
    ]
    const second = (await message('', { system, messages })).json()['usage']
    expect(second.cache_read_input_tokens).to.equal(first.cache_creation_input_tokens)
    expect(second.cache_creation_input_tokens).to.be.within(1, 20)
    const unmarked = (await message('', { system: system[0]!.text, messages: messages.slice(0, 1) })).json()['usage']
    expect(unmarked).to.include({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 })
    expect(unmarked.input_tokens).to.equal(first.input_tokens + first.cache_creation_input_tokens)
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
