import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { newSecret, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { IMAGES, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

describe('keys', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  const sent = (headers: Record<string, string>, path = '/v1/models') =>
    send('GET', `${gateway.url}${path}`, { headers })
  /** A status and the message of an error: of a request with these headers. */
  const told = async (headers: Record<string, string>): Promise<[number, string | undefined]> => {
    const { status, json } = await sent(headers)
    return [status, json.error?.message]
  }

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
    for (const scheme of ['bearer', 'BEARER', 'BeArEr'])
      expect((await sent({ authorization: `${scheme} ${key}` })).status).to.equal(200)
    const paid = await send('POST', `${gateway.url}${IMAGES}`, { body: imageBody('x'), headers: { 'x-api-key': key } })
    expect([paid.status, paid.json.usage.balance]).to.deep.equal([200, 60])
    for (const path of ['/v1/models', '/v1/key', `/v1/calls/${paid.headers.get('x-call-id')}`])
      expect((await sent({ 'x-api-key': key }, path)).status, path).to.equal(200)
    // Also beside an Authorization that has none: another scheme, or nothing behind Bearer.
    for (const authorization of [`bearer  ${key} `, 'Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', ''])
      expect((await told({ 'x-api-key': key, authorization }))[0], authorization).to.equal(200)
  })

  it('answer 401 to two that differ, whichever of them is good, and to an x-api-key that is none', async () => {
    const { key } = account
    const other = (await gateway.account()).key
    for (const [one, two] of [
      [key, other],
      [key, newSecret()],
      ['x', key],
      [key, `${key} ${key}`],
    ] as const)
      expect(await told({ 'x-api-key': one, authorization: `Bearer ${two}` })).to.deep.equal([
        401,
        'Authorization and x-api-key name different keys. Send one of them.',
      ])
    for (const wrong of [' ', 'x', `Bearer ${key}`, `${key}, ${key}`, newSecret()])
      expect((await told({ 'x-api-key': wrong }))[0], wrong).to.equal(401)
    expect(await told({ 'x-api-key': '' })).to.deep.equal([
      401,
      'Send the key as "Authorization: Bearer <key>" or as "x-api-key".',
    ])
  })

  it('do not open the console as x-api-key, nor does a session token there or here', async () => {
    const login = { userId: account.userId, accountId: account.id, passwordHash: 'none', userAgent: '', ip: '' }
    const { token } = (await openSession(gateway.db, login))!
    for (const one of [account.key, token])
      expect((await sent({ 'x-api-key': one }, '/api/auth/me')).status).to.equal(401)
    expect((await told({ 'x-api-key': token }))[0]).to.equal(401)
    expectError(await sent({ authorization: `Bearer ${token}` }), 'unauthorized')
  })

  it('finish and settle a call whose key is revoked while it runs, and are 401 from then on', async () => {
    const prompt = prompted('[hold]')
    const running = account.image(prompt)
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    await revokeKey(gateway.db, allOf(account.id), account.keyId)
    for (const reply of [await account.get('/v1/models'), await account.image('x')]) expectError(reply, 'unauthorized')
    gateway.sandbox.release(prompt)
    expect((await running).json.usage).to.include({ credits: 40, balance: 60 })
    expect(await account.counts()).to.include({ calls: 1 })
  })

  it('never show one account the call of another', async () => {
    const id = (await account.image(prompted())).headers.get('x-call-id')!
    expectError(await (await gateway.account()).get(`/v1/calls/${id}`), 'not_found')
    expect((await account.get(`/v1/calls/${id}`)).status).to.equal(200)
  })
})
