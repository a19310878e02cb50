import { expect } from 'chai'
import { newSecret } from '../../../src/shared/accounts/api-keys.ts'
import { createKeyLookup } from '../../../src/shared/accounts/key-lookup.ts'
import { changeKey } from '../../../src/shared/accounts/key-limits.ts'
import type { Db } from '../../../src/shared/infra/db.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'

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
