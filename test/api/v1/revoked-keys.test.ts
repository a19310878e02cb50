import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { Redis } from 'ioredis'
import { createKey, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { exchange } from '../middleware/sockets.ts'
import { CHAT, IMAGES, image, changeCall } from '../../../scripts/harness/calling.ts'

const IDEMPOTENT = { 'idempotency-key': 'paid before' }

const imageOf = (prompt: string, headers: Record<string, string> = {}, model = 'sandbox-image') => ({
  path: IMAGES,
  body: JSON.stringify({ model, prompt }),
  headers,
})
const chatOf = (more: object = {}) => ({
  path: CHAT,
  body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'new' }], ...more }),
  headers: {},
})

/** Requests that are charged, that are refused before that, and that fetch what is paid already. */
const REQUESTS: Record<string, ReturnType<typeof imageOf>> = {
  'an image': imageOf('new'),
  'a chat': chatOf(),
  'a streamed chat': chatOf({ stream: true }),
  'an image of a model that no upstream serves': imageOf('x', {}, 'unavailable-image'),
  'no JSON': { path: IMAGES, body: '{', headers: {} },
  'an unknown model': imageOf('x', {}, 'nothing'),
  'an empty prompt': imageOf(''),
  'a replay of a paid call': imageOf('paid', IDEMPOTENT),
  'another body under a used idempotency key': imageOf('other', IDEMPOTENT),
  "an SDK's retry of a call that nobody waits for": imageOf('left', { 'x-stainless-retry-count': '1' }),
}

const ALLOWANCE = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`)

/** Sends only the head of a request; `finish` sends its body and returns the answer. */
function beginRequest(url: string, headers: Record<string, string>) {
  const request = httpRequest(url, { method: 'POST', headers })
  request.flushHeaders()
  return {
    finish: async (body: string): Promise<IncomingMessage> => {
      request.end(body)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      return response.resume()
    },
  }
}

describe('a revoked or suspended key', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 2000)
  let redis: Redis
  before(() => {
    redis = new Redis(gateway.config.REDIS_URL)
  })
  after(() => redis.disconnect())
  beforeEach(async () => {
    expect((await account.image('paid', {}, IDEMPOTENT)).status).to.equal(200)
    const left = await account.image('left', {}, { 'x-stainless-retry-count': '0' })
    await changeCall(gateway.db, left, { abandoned_at: gateway.db.fn.now() })
  })

  const request = ({ path, body, headers }: (typeof REQUESTS)[string]): Promise<Reply> =>
    send('POST', `${gateway.url}${path}`, {
      key: account.key,
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })

  /** How many requests of the account were counted in this window. */
  const requestsOf = async ({ id }: Caller): Promise<number> =>
    Number(await redis.get(`${gateway.config.REDIS_PREFIX}:limit:calls:${id}`))

  it('is refused for every request once it is revoked, which records no call', async () => {
    const before = await account.counts()
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    for (const [what, asked] of Object.entries(REQUESTS)) {
      const reply = await request(asked)
      expect([reply.status, reply.json.error.type], what).to.deep.equal([401, 'unauthorized'])
      for (const name of ['x-call-id', ...ALLOWANCE, 'idempotent-replayed'])
        expect(reply.headers.get(name), `${what}: ${name}`).to.equal(null)
    }
    expect(await account.counts()).to.deep.equal(before)
  })

  it('is refused for every request while its account is suspended, and accepted afterwards', async () => {
    const statuses = new Map<string, number>()
    for (const [what, asked] of Object.entries(REQUESTS)) statuses.set(what, (await request(asked)).status)
    await setAccountStatus(gateway.db, null, account.id, 'suspended')
    for (const [what, asked] of Object.entries(REQUESTS)) {
      const refused = await request(asked)
      expect([refused.status, refused.json.error.type], what).to.deep.equal([403, 'account_suspended'])
      expect(await gateway.record(refused)).to.include({ status: 'rejected', errorType: 'account_suspended' })
      for (const name of ALLOWANCE) expect(refused.headers.get(name), `${what}: ${name}`).to.equal(null)
    }
    await setAccountStatus(gateway.db, null, account.id, 'active')
    for (const [what, asked] of Object.entries(REQUESTS))
      expect((await request(asked)).status, what).to.equal(statuses.get(what))
  })

  it('refuses a body that arrives after its key was revoked, and does not join a paid call', async () => {
    const { id, secret } = await createKey(gateway.db, account.id, 'second')
    for (const [keyId, key] of [
      [account.keyId, account.key],
      [id, secret],
    ] as const) {
      const before = await account.counts()
      const { path, body } = REQUESTS["an SDK's retry of a call that nobody waits for"]!
      const counted = await requestsOf(account)
      const late = beginRequest(`${gateway.url}${path}`, {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
        'x-stainless-retry-count': '1',
      })
      await until('the request to be counted', async () => (await requestsOf(account)) > counted)
      await revokeKey(gateway.db, allOf(account.id), keyId)
      const { statusCode, headers } = await late.finish(body)
      expect(statusCode).to.equal(401)
      for (const name of ['x-call-id', ...ALLOWANCE, 'idempotent-replayed'])
        expect(headers[name], name).to.equal(undefined)
      expect(await account.counts()).to.deep.equal(before)
    }
  })

  it('leaves no connection open that waits for the rest of a body that is too long', async () => {
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    const head = [
      `POST ${IMAGES} HTTP/1.1`,
      'Host: gateway',
      `Authorization: Bearer ${account.key}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ]
    const chunk = `200000\r\n${' '.repeat(0x200000)}\r\n`
    const { statuses, closed } = await exchange(gateway.url, [`${head.join('\r\n')}\r\n\r\n`, chunk])
    expect([statuses, closed]).to.deep.equal([[401], true])
  })
})
