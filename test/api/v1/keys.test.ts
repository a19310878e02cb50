import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { newSecret, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { IMAGES, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

describe('keys', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  async function sessionOf({ id, userId }: Caller): Promise<string> {
    const login = { userId, accountId: id, passwordHash: 'none', userAgent: '', ip: '' }
    return (await openSession(gateway.db, login))!.token
  }

  const BAD: [what: string, authorization: string | undefined][] = [
    ['no Authorization header', undefined],
    ['an empty one', ''],
    ['a scheme without a key', 'Bearer'],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['two keys', `Bearer ${newSecret()} ${newSecret()}`],
    ['a key without a scheme', newSecret()],
    ['a key of 8 kB', `Bearer tg_${'x'.repeat(8000)}`],
    ['a key whose checksum is wrong', `Bearer ${newSecret().replace(/.$/, (last) => (last === '0' ? '1' : '0'))}`],
    ['an unknown key', `Bearer ${newSecret()}`],
    ['SQL', `Bearer ' OR 1=1 --`],
  ]
  for (const [what, authorization] of BAD) {
    it(`answer 401 unauthorized to ${what}, with the scheme to use`, async () => {
      for (const [method, path] of [
        ['GET', '/v1/models'],
        ['POST', IMAGES],
        ['GET', '/v1/calls/call_1'],
      ] as const) {
        const reply = await send(method, `${gateway.url}${path}`, {
          ...(method === 'POST' && { body: imageBody('x') }),
          headers: authorization === undefined ? {} : { authorization },
        })
        expectError(reply, 'unauthorized')
        expect(reply.headers.get('www-authenticate')).to.match(/^Bearer/)
        expect(reply.headers.get('x-call-id')).to.equal(null)
      }
    })
  }

  it('accept the scheme in upper and lower case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
      expect(
        (await send('GET', `${gateway.url}/v1/models`, { headers: { authorization: `${scheme} ${account.key}` } }))
          .status,
      ).to.equal(200)
    }
  })

  /** A status and the message of an error: of a request with these headers. */
  async function told(headers: Record<string, string>): Promise<[number, string | undefined]> {
    const { status, json } = await send('GET', `${gateway.url}/v1/models`, { headers })
    return [status, json.error?.message]
  }

  it('may be sent as x-api-key everywhere under /v1, and beside Authorization if both are the same', async () => {
    const { key } = account
    const paid = await send('POST', `${gateway.url}${IMAGES}`, { body: imageBody('x'), headers: { 'x-api-key': key } })
    expect([paid.status, paid.json.usage.balance]).to.deep.equal([200, 60])
    for (const path of ['/v1/models', '/v1/key', `/v1/calls/${paid.headers.get('x-call-id')}`]) {
      expect((await send('GET', `${gateway.url}${path}`, { headers: { 'x-api-key': key } })).status, path).to.equal(200)
    }
    expect((await told({ 'x-api-key': key, authorization: `bearer  ${key} ` }))[0]).to.equal(200)
  })

  it('answer 401 to two that differ, whichever of them is good', async () => {
    const other = (await gateway.account()).key
    for (const [one, two] of [
      [account.key, other],
      [account.key, newSecret()],
      ['x', account.key],
      [account.key, `${account.key} ${account.key}`],
    ]) {
      const answer = await told({ 'x-api-key': one!, authorization: `Bearer ${two}` })
      expect(answer).to.deep.equal([401, 'Authorization and x-api-key name different keys. Send one of them.'])
    }
  })

  it('count as x-api-key beside an Authorization that has none: another scheme, or nothing behind Bearer', async () => {
    for (const authorization of ['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', '']) {
      expect((await told({ 'x-api-key': account.key, authorization }))[0], authorization).to.equal(200)
    }
  })

  it('answer 401 to an x-api-key that is none, with the ways to send one', async () => {
    for (const wrong of ['', ' ', 'x', `Bearer ${account.key}`, `${account.key}, ${account.key}`, newSecret()]) {
      expect((await told({ 'x-api-key': wrong }))[0], wrong).to.equal(401)
    }
    expect((await told({ 'x-api-key': '' }))[1]).to.equal(
      'Send the key as "Authorization: Bearer <key>" or as "x-api-key".',
    )
  })

  it('do not open the console as x-api-key, nor does a session token there', async () => {
    const session = await sessionOf(account)
    for (const token of [account.key, session]) {
      const { status } = await send('GET', `${gateway.url}/api/auth/me`, { headers: { 'x-api-key': token } })
      expect(status).to.equal(401)
    }
    expect((await told({ 'x-api-key': session }))[0]).to.equal(401)
  })

  it('answer 401 to a key from the moment it is revoked', async () => {
    expect((await account.get('/v1/models')).status).to.equal(200)
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    for (const reply of [await account.get('/v1/models'), await account.image('x')]) expectError(reply, 'unauthorized')
    expect(await account.counts()).to.include({ calls: 0 })
  })

  it('finish and settle a call whose key is revoked while it runs', async () => {
    const prompt = prompted('[hold]')
    const running = account.image(prompt)
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    gateway.sandbox.release(prompt)
    expect((await running).json.usage).to.include({ credits: 40, balance: 60 })
  })

  it('do not accept a session token as a key', async () => {
    expectError(await get(`${gateway.url}/v1/models`, await sessionOf(account)), 'unauthorized')
  })

  it('never show one account the call of another', async () => {
    const other = await gateway.account(100)
    const mine = await account.image(prompted())
    const id = mine.headers.get('x-call-id')!
    expectError(await other.get(`/v1/calls/${id}`), 'not_found')
    expect((await account.get(`/v1/calls/${id}`)).status).to.equal(200)
  })
})
