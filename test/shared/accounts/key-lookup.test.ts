import { expect } from 'chai'
import { createKey, newSecret, revokeKey } from '../../../src/shared/accounts/api-keys.ts'
import { REMEMBERED, createKeyLookup } from '../../../src/shared/accounts/key-lookup.ts'
import { changeKey } from '../../../src/shared/accounts/key-limits.ts'
import type { Db } from '../../../src/shared/infra/db.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'

describe('the keys of simultaneous requests', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  it('are each judged for the address of their own request, however often they are asked for', async () => {
    const [first, second] = [await anAccount(db), await anAccount(db)]
    await changeKey(db, first.keyId, { allowedIps: ['192.0.2.1'] })
    const unknown = newSecret()
    const keys = createKeyLookup(db)
    const asked = Array.from({ length: 5 }, () => [
      [first.key, '192.0.2.1'],
      [second.key, '192.0.2.2'],
      [first.key, '192.0.2.2'],
      [unknown, '192.0.2.1'],
      [first.key, ''],
    ]).flat() as [string, string][]
    const found = await Promise.all(asked.map(([secret, address]) => keys.find(secret, address)))
    const seen = found.map((one) => one && [one.keyId, one.accountId, one.address, one.addressAllowed])
    const expected = [
      [first.keyId, first.id, '192.0.2.1', true],
      [second.keyId, second.id, '192.0.2.2', true],
      [first.keyId, first.id, '192.0.2.2', false],
      null,
      [first.keyId, first.id, '', false],
    ]
    expect(seen).to.deep.equal(Array.from({ length: 5 }, () => expected).flat())
  })
})

describe('a key that was looked up', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  it('is remembered with its holder, for whatever address asks next, until a look-up does not find it', async () => {
    const account = await anAccount(db)
    const keys = createKeyLookup(db)
    expect(keys.recall(account.key, '192.0.2.1')).to.equal(null)
    const { isPlain } = (await keys.find(account.key, '192.0.2.1'))!
    expect(isPlain).to.equal(true)
    expect(keys.recall(account.key, '192.0.2.2')).to.include({
      keyId: account.keyId,
      accountId: account.id,
      address: '192.0.2.2',
      secretVersion: REMEMBERED,
    })
    await revokeKey(db, account.id, account.keyId)
    expect(await keys.find(account.key, '192.0.2.1')).to.equal(null)
    expect(keys.recall(account.key, '192.0.2.1')).to.equal(null)
  })

  const OTHERS: Record<string, (account: TestAccount) => Promise<unknown>> = {
    'has a rate limit': ({ keyId }) => changeKey(db, keyId, { rateLimit: 5 }),
    'has a list of models': ({ keyId }) => changeKey(db, keyId, { models: ['a'] }),
    'is beside one with a budget': async ({ id }) =>
      changeKey(db, (await createKey(db, id, 'second')).id, { budget: { credits: 5, period: 'day' } }),
    'is of a suspended account': ({ id }) => setAccountStatus(db, null, id, 'suspended'),
  }
  for (const [what, change] of Object.entries(OTHERS)) {
    it(`is not remembered where it ${what}`, async () => {
      const account = await anAccount(db)
      const keys = createKeyLookup(db)
      await keys.find(account.key, '')
      await change(account)
      expect((await keys.find(account.key, ''))!.isPlain).to.equal(false)
      expect(keys.recall(account.key, '')).to.equal(null)
    })
  }
})
