import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { connectDb, isUnreachable } from '../../../src/shared/infra/db.ts'
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

  it('is that it cannot be reached, where it takes connections and never answers', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    const { port } = silent.address() as AddressInfo
    const db = connectDb(
      { DATABASE_URL: `postgres://someone:x@127.0.0.1:${port}/d`, DATABASE_SSL: 'off', DATABASE_POOL: 1 },
      1000,
    )
    const failure = () =>
      db.raw('SELECT 1').then(
        () => null,
        (thrown: unknown) => thrown,
      )
    // The second waits for the connection of the first, whose patience ends before its own.
    const [first, second] = await Promise.all([failure(), pause(700).then(failure)])
    await db.destroy()
    silent.close()
    expect([String(first), String(second)].join(), 'one of them').to.include('Error: timeout expired')
    expect([isUnreachable(first), isUnreachable(second)], `${String(first)}, ${String(second)}`).to.deep.equal([
      true,
      true,
    ])
  })
})
