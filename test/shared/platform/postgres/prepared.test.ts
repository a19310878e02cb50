import { expect } from 'chai'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import { connectTestDb, newDatabaseUrl } from '../../../../scripts/harness/database.ts'
import { createKeyLookup } from '../../../../src/shared/identity/key-lookup.ts'
import { beginCalls, endCalls, openCalls } from '../../../../src/shared/calls/statements.ts'
import { newId } from '../../../../src/shared/platform/ids.ts'
import { aResult, anOrder } from '../../calls/opening.ts'

/** How often Postgres makes a plan for the values at hand before it may keep one. */
const PLANNED = 5
const ROUNDS = PLANNED + 3

describe('prepared statements', () => {
  it('keep their plans, also for lists of one', async function () {
    // One connection, whose statements can be asked for.
    const db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 1 })
    try {
      // Older ones do not say which plan they ran.
      const { rows: server } = await db.raw<{ rows: { version: number }[] }>(
        `SELECT current_setting('server_version_num')::integer AS version`,
      )
      if (server[0]!.version < 140_000) this.skip()
      const account = await anAccount(db, 1000)
      const keys = createKeyLookup(db)
      for (let nth = 0; nth < ROUNDS; nth++) {
        expect((await keys.find(account.key, '192.0.2.1'))?.keyId).to.equal(account.keyId)
        // Alone, and together.
        for (const count of [1, 2]) {
          const orders = Array.from({ length: count }, () => anOrder(account, 5, { price: { credits: 5 } }))
          await openCalls(db, orders, { maxOutstanding: 9 })
          if (count === 1) await beginCalls(db, [{ id: orders[0]!.id, run: newId('call'), isFlushed: true }])
          const ends = orders.map(({ id }) => ({
            row: { id, status: 'succeeded', cost: 3, http_status: 200, result_seconds: 60 } as const,
            output: aResult(3).output,
          }))
          expect(await endCalls(db, ends)).to.have.length(count)
        }
      }
      const { rows } = await db.raw<{ rows: { name: string; kept: number }[] }>(
        'SELECT name, generic_plans::integer AS kept FROM pg_prepared_statements ORDER BY name',
      )
      expect(rows).to.deep.equal(
        Object.entries({
          begin_calls: ROUNDS,
          end_calls: 2 * ROUNDS,
          find_principals: ROUNDS,
          open_calls: 2 * ROUNDS,
        }).map(([name, runs]) => ({ name, kept: runs - PLANNED })),
      )
    } finally {
      await db.destroy()
    }
  })
})
