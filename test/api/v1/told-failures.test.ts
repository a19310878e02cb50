import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Script } from '../../upstreams/support/scripted.ts'
import { streaming } from '../../upstreams/support/scripted.ts'
import { useGateway, useOneAccount, useScripted } from '../../support/gateway.ts'

const MENDABLE = 'context_management: Extra inputs are not permitted'
const INVALID = 'invalid_request_error'

const failing =
  (status: number, type: string, message: string, headers: Record<string, string> = {}): Script =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ type: 'error', error: { type, message } }))
  }

describe('a message whose upstream fails', () => {
  const scripted = useScripted()
  const gateway = useGateway({ LOG_LEVEL: 'silent' }, ({ upstreams, models }) => {
    const { sandbox } = upstreams
    const native = { ...sandbox, protocol: 'anthropic', baseUrl: scripted.origin }
    // Each with a key of its own, which is not asked again after its refusal.
    for (const name of ['native', 'chat', '429', '401', '404']) {
      upstreams[name] = name === 'chat' ? { ...sandbox, baseUrl: `${scripted.origin}/v1` } : native
      const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
      models.push({ id: name, modality: 'chat', pricing, upstreams: [{ upstream: name, model: 'its-own-name' }] })
    }
  })
  const account = useOneAccount(gateway, 10_000)
  afterEach(async () => {
    expect(await account.balance()).to.equal(10_000)
  })

  const ask = (model: string, script: Script, more: object = {}, headers = {}): Promise<Reply> => {
    const messages = [{ role: 'user', content: scripted.prompt(script) }]
    return account.post('/v1/messages', { model, max_tokens: 50, messages, ...more }, headers)
  }

  for (const [status, stream] of [
    [400, false],
    [413, true],
    [422, false],
  ] as const)
    it(`is refused in the upstream's words where it answers ${status}, ${stream ? 'streamed' : 'whole'}`, async () => {
      const reply = await ask('native', failing(status, INVALID, MENDABLE), { stream })
      const id = reply.headers.get('x-call-id')!
      expect(reply.status, reply.text).to.equal(400)
      expect(reply.json).to.include({ type: 'error', request_id: id })
      expect(reply.json.error).to.include({ type: INVALID, message: MENDABLE })
      expect(reply.headers.get('x-should-retry')).to.equal('false')
      const fetched = await account.get(`/v1/calls/${id}`)
      expect([fetched.status, fetched.text]).to.deep.equal([400, reply.text])
      for (const { headers } of [reply, fetched]) expect(headers.get('request-id')).to.equal(id)
      const errorType = status === 413 ? 'context_length_exceeded' : 'upstream_refused'
      expect(await gateway.record(reply)).to.include({ status: 'failed', httpStatus: 400, credits: 0, errorType })
    })

  for (const [what, model, stream, status, type, headers, errorType] of [
    ['is overloaded', 'native', true, 529, 'overloaded_error', {}, 'upstream_overloaded'],
    ['limits the rate', '429', false, 429, 'rate_limit_error', { 'retry-after-ms': '2500' }, 'upstream_unavailable'],
  ] as const)
    it(`is told that the upstream ${what}, and when it may be sent again`, async () => {
      const reply = await ask(model, failing(status, type, 'x', headers), { stream })
      expect(reply.status, reply.text).to.equal(529)
      expect(reply.json.error).to.include({ type: 'overloaded_error' })
      expect(reply.headers.get('x-should-retry')).to.equal('true')
      if (status === 429) expect(reply.headers.get('retry-after')).to.equal('3')
      expect(await gateway.record(reply)).to.include({ errorType, credits: 0 })
    })

  it('is told nothing of an upstream that refuses us', async () => {
    for (const [model, status, ...told] of [
      ['401', 401, 529, 'overloaded_error'],
      ['404', 404, 529, 'overloaded_error'],
      ['native', 500, 502, 'api_error'],
    ] as const) {
      const reply = await ask(model, failing(status, 'x', 'the secret reason'), { stream: status === 404 })
      expect([reply.status, reply.json.error.type]).to.deep.equal(told)
      expect(reply.text).to.not.include('secret reason')
    }
  })

  it('is refused in its words where they are the first event of the stream, and by its own name in them', async () => {
    const event = { type: 'error', error: { type: INVALID, message: MENDABLE } }
    const reply = await ask('native', streaming(`event: error\ndata: ${JSON.stringify(event)}\n\n`), { stream: true })
    expect([reply.status, reply.json.error.message]).to.deep.equal([400, MENDABLE])
    const named = await ask('native', failing(400, INVALID, 'max_tokens: 9 > 8 of its-own-name'))
    expect(named.json.error.message).to.equal('max_tokens: 9 > 8 of native')
  })

  it('is told nothing of the words of another dialect', async () => {
    const reply = await ask('chat', failing(400, INVALID, MENDABLE))
    expect([reply.status, reply.json.error.type]).to.deep.equal([502, 'api_error'])
    expect(reply.text).to.not.include(MENDABLE)
  })

  it('leaves its Idempotency-Key free where the upstream had no room for it, and keeps a refusal', async () => {
    for (const status of [529, 400]) {
      const headers = { 'Idempotency-Key': prompted() }
      const messages = [{ role: 'user', content: scripted.prompt(failing(status, 'x', 'no')) }]
      const [first, second] = [
        await ask('native', failing(500, 'x', 'x'), { messages }, headers),
        await ask('native', failing(500, 'x', 'x'), { messages }, headers),
      ]
      expect(second.status).to.equal(first.status)
      expect(second.headers.get('x-call-id') !== first.headers.get('x-call-id')).to.equal(status === 529)
    }
  })
})
