import { expect } from 'chai'
import { prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import type { Script } from '../../upstreams/support/scripted.ts'
import { streaming } from '../../upstreams/support/scripted.ts'
import { useGateway, useScripted } from '../../support/gateway.ts'

const MENDABLE = 'context_management: Extra inputs are not permitted'

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
    Object.assign(upstreams, {
      native: { ...sandbox, protocol: 'anthropic', baseUrl: scripted.origin },
      chat: { ...sandbox, baseUrl: `${scripted.origin}/v1` },
    })
    // Each with a key of its own, which is not asked again after its refusal.
    for (const name of ['429', '401', '404'].flatMap((one) => [`${one}-whole`, `${one}-streamed`]))
      upstreams[name] = upstreams.native!
    for (const upstream of Object.keys(upstreams).filter((one) => /^(native|chat|4)/.test(one))) {
      const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
      models.push({ id: upstream, modality: 'chat', pricing, upstreams: [{ upstream, model: 'its-own-name' }] })
    }
  })
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 10_000)
  })
  afterEach(async () => {
    expect(await balanceOf(gateway.db, account.id)).to.equal(10_000)
  })

  const ask = (
    model: string,
    script: Script,
    more: object = {},
    headers: Record<string, string> = {},
  ): Promise<Reply> =>
    send('POST', `${gateway.url}/v1/messages`, {
      key: account.key,
      headers,
      body: { model, max_tokens: 50, messages: [{ role: 'user', content: scripted.prompt(script) }], ...more },
    })

  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'

    for (const status of [400, 413, 422]) {
      it(`is refused in the upstream's words where it answers ${status}, ${how}`, async () => {
        const reply = await ask('native', failing(status, 'invalid_request_error', MENDABLE), { stream })
        expect(reply.status, reply.text).to.equal(400)
        expect(reply.json).to.deep.include({ type: 'error' })
        expect(reply.json.error).to.include({ type: 'invalid_request_error', message: MENDABLE })
        expect(reply.headers.get('x-should-retry')).to.equal('false')
        const id = reply.headers.get('x-call-id')!
        const fetched = await get(`${gateway.url}/v1/calls/${id}`, account.key)
        expect([fetched.status, fetched.text]).to.deep.equal([400, reply.text])
        expect(reply.json.request_id).to.equal(id)
        for (const { headers } of [reply, fetched]) expect(headers.get('request-id')).to.equal(id)
        const record = await recordOf(gateway.db, reply)
        expect(record).to.include({ status: 'failed', httpStatus: 400, credits: 0 })
        expect(record.errorType).to.equal(status === 413 ? 'context_length_exceeded' : 'upstream_refused')
      })
    }

    it(`is told that the upstream is overloaded, and may be sent again, ${how}`, async () => {
      const reply = await ask('native', failing(529, 'overloaded_error', 'Overloaded'), { stream })
      expect(reply.status, reply.text).to.equal(529)
      expect(reply.json.error).to.include({ type: 'overloaded_error' })
      expect(reply.headers.get('x-should-retry')).to.equal('true')
      expect(await recordOf(gateway.db, reply)).to.include({ errorType: 'upstream_overloaded', credits: 0 })
    })

    it(`is told that the upstream limits the rate, and when to come again, ${how}`, async () => {
      const limited = failing(429, 'rate_limit_error', 'Number of requests', { 'retry-after-ms': '2500' })
      const reply = await ask(`429-${how}`, limited, { stream })
      expect(reply.status, reply.text).to.equal(529)
      expect(reply.json.error).to.include({ type: 'overloaded_error' })
      expect([reply.headers.get('retry-after'), reply.headers.get('x-should-retry')]).to.deep.equal(['3', 'true'])
      expect(await recordOf(gateway.db, reply)).to.include({ errorType: 'upstream_unavailable', credits: 0 })
    })

    it(`is told nothing of an upstream that refuses us, ${how}`, async () => {
      for (const status of [401, 404, 500]) {
        const model = status === 500 ? 'native' : `${status}-${how}`
        const reply = await ask(model, failing(status, 'x', 'the secret reason'), { stream })
        const told = status === 500 ? [502, 'api_error'] : [529, 'overloaded_error']
        expect([reply.status, reply.json.error.type]).to.deep.equal(told)
        expect(reply.text).to.not.include('secret reason')
      }
    })
  }

  it('is refused in its words where they come as the first event of the stream', async () => {
    const event = { type: 'error', error: { type: 'invalid_request_error', message: MENDABLE } }
    const reply = await ask('native', streaming(`event: error\ndata: ${JSON.stringify(event)}\n\n`), { stream: true })
    expect([reply.status, reply.json.error.message]).to.deep.equal([400, MENDABLE])
  })

  it('is told nothing of the words of another dialect', async () => {
    const reply = await ask('chat', failing(400, 'invalid_request_error', MENDABLE))
    expect([reply.status, reply.json.error.type]).to.deep.equal([502, 'api_error'])
    expect(reply.text).to.not.include(MENDABLE)
  })

  it('is called by its own name in them', async () => {
    const reply = await ask('native', failing(400, 'invalid_request_error', 'max_tokens: 9 > 8 of its-own-name'))
    expect(reply.json.error.message).to.equal('max_tokens: 9 > 8 of native')
  })

  it('leaves its Idempotency-Key free where the upstream had no room for it, and keeps a refusal', async () => {
    for (const [status, isFree] of [
      [529, true],
      [400, false],
    ] as const) {
      const headers = { 'Idempotency-Key': prompted() }
      const messages = [{ role: 'user', content: scripted.prompt(failing(status, 'x', 'no')) }]
      const first = await ask('native', failing(500, 'x', 'x'), { messages }, headers)
      const second = await ask('native', failing(500, 'x', 'x'), { messages }, headers)
      expect(second.status).to.equal(first.status)
      expect(second.headers.get('x-call-id') !== first.headers.get('x-call-id')).to.equal(isFree)
    }
  })
})
