import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { createKey, newSecret, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { CHAT, IMAGES, changeCall, chatBody, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Redis } from 'ioredis'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { exchange } from '../middleware/sockets.ts'

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

describe('keys', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  const sent = (headers: Record<string, string>, path = '/v1/models') =>
    send('GET', `${gateway.url}${path}`, { headers })

  it('answer 401 unauthorized to what is none, with the scheme to use', async () => {
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Basic dXNlcjpwYXNz',
      `Bearer ${newSecret()} ${newSecret()}`,
      newSecret(),
      `Bearer tg_${'x'.repeat(8000)}`,
      `Bearer ${newSecret().replace(/.$/, (last) => (last === '0' ? '1' : '0'))}`,
      `Bearer ${newSecret()}`,
      `Bearer ' OR 1=1 --`,
    ]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
      for (const reply of [
        await sent(headers),
        await sent(headers, '/v1/calls/call_1'),
        await send('POST', `${gateway.url}${IMAGES}`, { body: imageBody('x'), headers }),
      ]) {
        expectError(reply, 'unauthorized')
        expect(reply.headers.get('www-authenticate'), authorization).to.match(/^Bearer/)
        expect(reply.headers.get('x-call-id')).to.equal(null)
      }
    }
  })

  it('are accepted with the scheme in any case, as x-api-key everywhere under /v1, or as both', async () => {
    const { key } = account
    const paid = await send('POST', `${gateway.url}${IMAGES}`, { body: imageBody('x'), headers: { 'x-api-key': key } })
    expect([paid.status, paid.json.usage.balance]).to.deep.equal([200, 60])
    for (const path of ['/v1/models', '/v1/key', `/v1/calls/${paid.headers.get('x-call-id')}`])
      expect((await sent({ 'x-api-key': key }, path)).status, path).to.equal(200)
    for (const scheme of ['bearer', 'BeArEr'])
      expect((await sent({ authorization: `${scheme} ${key}` })).status).to.equal(200)
    // Also beside an Authorization that has none: another scheme, or nothing behind Bearer.
    for (const authorization of [`bearer  ${key} `, 'Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', ''])
      expect((await sent({ 'x-api-key': key, authorization })).status, authorization).to.equal(200)
  })

  it('answer 401 to two that differ, whichever of them is good, and to an x-api-key that is none', async () => {
    const { key } = account
    const different = 'The request has different keys. Send one of them.'
    const none = 'The API key is unknown, has expired or was revoked.'
    const missing = 'Send the key as "Authorization: Bearer <key>" or as "x-api-key".'
    for (const [one, authorization, message] of [
      [key, `Bearer ${(await gateway.account()).key}`, different],
      ['x', `Bearer ${key}`, different],
      [key, `Bearer ${key} ${key}`, different],
      [newSecret(), undefined, none],
      [`Bearer ${key}`, undefined, missing],
      [`${key}, ${key}`, undefined, missing],
      ['', undefined, missing],
    ] as const) {
      const reply = await sent({ 'x-api-key': one, ...(authorization && { authorization }) })
      expect([reply.status, reply.json.error.message]).to.deep.equal([401, message])
    }
  })

  it('do not open the console as x-api-key, nor does a session token there or here', async () => {
    const login = { userId: account.userId, accountId: account.id, passwordHash: 'none', userAgent: '', ip: '' }
    const { token } = (await openSession(gateway.db, login))!
    for (const one of [account.key, token])
      expect((await sent({ 'x-api-key': one }, '/api/auth/me')).status).to.equal(401)
    expect((await sent({ 'x-api-key': token })).status).to.equal(401)
    expectError(await sent({ authorization: `Bearer ${token}` }), 'unauthorized')
  })

  it('never show one account the call of another', async () => {
    const id = (await account.image(prompted())).headers.get('x-call-id')!
    expectError(await (await gateway.account()).get(`/v1/calls/${id}`), 'not_found')
    expect((await account.get(`/v1/calls/${id}`)).status).to.equal(200)
  })

  describe('a revoked or suspended key', () => {
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
})
