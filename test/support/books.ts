import { expect } from 'chai'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { audit } from '../../src/shared/ledger/audit.ts'

/** Expects every invariant of the money to hold in this test process's database. */
export async function expectBooksToBalance(db: Db): Promise<void> {
  const { breaches } = await audit(db)
  expect(breaches, JSON.stringify(breaches, null, 2)).to.deep.equal([])
}
