import { expect } from 'chai'
import { connectDb } from '../../../src/shared/infra/db.ts'
import { describeError } from '../../../src/shared/infra/log.ts'
import { testDatabaseUrl } from '../../../scripts/harness/database.ts'

describe('an error of Postgres', () => {
  it('names the statement, never its values', async () => {
    const db = connectDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const error = await db.raw('SELECT no_such_column, ?::text', ['what a customer said']).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    await db.destroy()
    expect(JSON.stringify(describeError(error)))
      .to.contain('no_such_column')
      .and.not.to.contain('what a customer said')
  })
})
