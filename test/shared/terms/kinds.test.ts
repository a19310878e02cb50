import { expect } from 'chai'
import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'

describe('the kinds of call', () => {
  it('are those that the database allows, wherever it lists them', async () => {
    const db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const { rows } = await db.raw<{ rows: { name: string; rule: string }[] }>(
      'SELECT conname AS name, pg_get_constraintdef(oid) AS rule FROM pg_constraint',
    )
    await db.destroy()
    const lists = rows.filter(({ rule }) => rule.includes("'chat'") && rule.includes("'image'"))
    expect(lists).not.to.deep.equal([])
    for (const { name, rule } of lists)
      expect(
        Array.from(rule.matchAll(/'(\w+)'/g), ([, word]) => word),
        name,
      ).to.have.members(MODALITIES)
  })
})
