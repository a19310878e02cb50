import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { Redis } from 'ioredis'
import { createKey, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { until } from '../../../scripts/harness/until.ts'
import { exchange } from '../middleware/sockets.ts'
import { CHAT, IMAGES, changeCall, chatBody, imageBody } from '../../../scripts/harness/calling.ts'

const IDEMPOTENT = { 'idempotency-key': 'paid before' }
const RETRIED = { 'x-stainless-retry-count': '1' }

/** Requests that are charged, that are refused before that, and that fetch what is paid already. */
const REQUESTS: Record<string, [path: string, body: unknown, headers?: Record<string, string>]> = {
  'an image': [IMAGES, imageBody('new')],
  'a chat': [CHAT, chatBody('new')],
  'a streamed chat': [CHAT, chatBody('new', { stream: true })],
  'an image of a model that no upstream serves': [IMAGES, imageBody('x', { model: 'unavailable-image' })],
  'no JSON': [IMAGES, '{'],
  'an unknown model': [IMAGES, imageBody('x', { model: 'nothing' })],
  'an empty prompt': [IMAGES, imageBody('')],
  'a replay of a paid call': [IMAGES, imageBody('paid'), IDEMPOTENT],
  'another body under a used idempotency key': [IMAGES, imageBody('other'), IDEMPOTENT],
  "an SDK's retry of a call that nobody waits for": [IMAGES, imageBody('left'), RETRIED],
}

const ALLOWANCE = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`)
const NONE = ['x-call-id', ...ALLOWANCE, 'idempotent-replayed']

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

  it('is refused for every request once it is revoked, which records no call', async () => {
    const before = await account.counts()
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    for (const [what, asked] of Object.entries(REQUESTS)) {
      const reply = await account.post(...asked)
      expect([reply.status, reply.json.error.type], what).to.deep.equal([401, 'unauthorized'])
      for (const name of NONE) expect(reply.headers.get(name), `${what}: ${name}`).to.equal(null)
    }
    expect(await account.counts()).to.deep.equal(before)
  })

  it('is refused for every request while its account is suspended, and accepted afterwards', async () => {
    const statuses = new Map<string, number>()
    for (const [what, asked] of Object.entries(REQUESTS)) statuses.set(what, (await account.post(...asked)).status)
    await setAccountStatus(gateway.db, null, account.id, 'suspended')
    for (const [what, asked] of Object.entries(REQUESTS)) {
      const refused = await account.post(...asked)
      expect([refused.status, refused.json.error.type], what).to.deep.equal([403, 'account_suspended'])
      expect(await gateway.record(refused)).to.include({ status: 'rejected', errorType: 'account_suspended' })
      for (const name of ALLOWANCE) expect(refused.headers.get(name), `${what}: ${name}`).to.equal(null)
    }
    await setAccountStatus(gateway.db, null, account.id, 'active')
    for (const [what, asked] of Object.entries(REQUESTS))
      expect((await account.post(...asked)).status, what).to.equal(statuses.get(what))
  })

  it('refuses a body that arrives after its key was revoked, and does not join a paid call', async () => {
    const requests = async (): Promise<number> =>
      Number(await redis.get(`${gateway.config.REDIS_PREFIX}:limit:calls:${account.id}`))
    const { id, secret } = await createKey(gateway.db, account.id, 'second')
    for (const [keyId, key] of [
      [account.keyId, account.key],
      [id, secret],
    ] as const) {
      const before = await account.counts()
      const body = JSON.stringify(imageBody('left'))
      const counted = await requests()
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...RETRIED }
      const late = httpRequest(`${gateway.url}${IMAGES}`, {
        method: 'POST',
        headers: { ...headers, 'content-length': String(body.length) },
      })
      late.flushHeaders()
      await until('the request to be counted', async () => (await requests()) > counted)
      await revokeKey(gateway.db, allOf(account.id), keyId)
      late.end(body)
      const [response] = (await once(late, 'response')) as [IncomingMessage]
      response.resume()
      expect(response.statusCode).to.equal(401)
      for (const name of NONE) expect(response.headers[name], name).to.equal(undefined)
      expect(await account.counts()).to.deep.equal(before)
    }
  })

  it('leaves no connection open that waits for the rest of a body that is too long', async () => {
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    const head =
      `POST ${IMAGES} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const chunk = `200000\r\n${' '.repeat(0x200000)}\r\n`
    const { statuses, closed } = await exchange(gateway.url, [head, chunk])
    expect([statuses, closed]).to.deep.equal([[401], true])
  })
})
