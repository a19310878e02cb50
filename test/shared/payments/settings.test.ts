import { expect } from 'chai'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { saveCustomer } from '../../../src/shared/payments/customers.ts'

describe('the customer of an account at the provider', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 8 })
  })
  after(() => db.destroy())

  it('is kept once, however many first orders of an account ask for it at once', async () => {
    for (let round = 0; round < 20; round++) {
      const { id } = await anAccount(db)
      const asked = Array.from({ length: 8 }, () => saveCustomer(db, id, `cus_${id}`, false))
      expect(new Set(await Promise.all(asked))).to.deep.equal(new Set([`cus_${id}`]))
      expect(await saveCustomer(db, id, 'cus_other', false)).to.equal(`cus_${id}`)
    }
  })
})
