import { expect } from 'chai'
import { newSecret, revokeKey } from '../../../src/shared/accounts/api-keys.ts'
import { openSession } from '../../../src/shared/users/sessions.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { IMAGES, countsOf, image, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'

describe('keys', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    account = await anAccount(gateway.db, 100)
  })
  afterEach(() => expectBooksToBalance(gateway.db))

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

  it('answer 401 to a key from the moment it is revoked', async () => {
    expect((await get(`${gateway.url}/v1/models`, account.key)).status).to.equal(200)
    await revokeKey(gateway.db, account.id, account.keyId)
    for (const reply of [await get(`${gateway.url}/v1/models`, account.key), await image(gateway, account, 'x')])
      expectError(reply, 'unauthorized')
    expect(await countsOf(gateway.db, account)).to.include({ calls: 0 })
  })

  it('finish and settle a call whose key is revoked while it runs', async () => {
    const prompt = prompted('[hold]')
    const running = image(gateway, account, prompt)
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    await revokeKey(gateway.db, account.id, account.keyId)
    gateway.sandbox.release(prompt)
    expect((await running).json.usage).to.include({ credits: 40, balance: 60 })
  })

  it('do not accept a session token as a key', async () => {
    const session = await openSession(gateway.db, {
      userId: account.userId,
      accountId: account.id,
      passwordHash: 'none',
      userAgent: '',
      ip: '',
    })
    expectError(await get(`${gateway.url}/v1/models`, session!.token), 'unauthorized')
  })

  it('never show one account the call of another', async () => {
    const other = await anAccount(gateway.db, 100)
    const mine = await image(gateway, account, prompted())
    const id = mine.headers.get('x-call-id')!
    expectError(await get(`${gateway.url}/v1/calls/${id}`, other.key), 'not_found')
    expect((await get(`${gateway.url}/v1/calls/${id}`, account.key)).status).to.equal(200)
  })
})
