import '../require-node.ts'
import { loadavg } from 'node:os'
import { createKey } from '../../src/shared/accounts/api-keys.ts'
import { changeKey } from '../../src/shared/accounts/key-limits.ts'
import { connectDb } from '../../src/shared/infra/db.ts'
import { inventCalls } from '../console/history.ts'
import { newDatabaseUrl } from '../harness/database.ts'
import { anAccount } from '../harness/factories.ts'

/**
 * `npx tsx scripts/measure/budgets.ts [calls]`: how long it takes to set a budget of a key with so many calls
 * (100,000). Calls of its account go on meanwhile.
 */

const CALLS = Number(process.argv[2] ?? 100_000)
const ROUNDS = 9

const db = connectDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
const { id, keyId } = await anAccount(db, 1000)
await db('api_keys')
  .where({ id: keyId })
  .update({ created_at: db.raw("now() - interval '31 days'") })
await inventCalls(db, id, keyId, CALLS)

/** Prints the median of several times, in ms. */
async function time(what: string, work: (round: number) => Promise<unknown>): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now()
    await work(round)
    times.push(Math.round(performance.now() - startedAt))
  }
  times.sort((a, b) => a - b)
  const load = loadavg()[0]!.toFixed(1)
  console.log(`${what}: ${times[ROUNDS >> 1]} ms (median of ${ROUNDS}: ${times.join(', ')}; load ${load})`)
}

const budget = (period: 'total' | 'month', credits = 1_000_000_000) => ({ budget: { credits, period } })
console.log(`A key with ${CALLS.toLocaleString('en')} calls:`)
// Another period is another budget, whose use is counted again.
await time('set a budget in total or a month', (round) => changeKey(db, keyId, budget(round % 2 ? 'month' : 'total')))
await time('raise it', (round) => changeKey(db, keyId, budget('total', 2_000_000_000 + round)))
await time('make another key with one', () => createKey(db, id, 'another', budget('total')))
await db.destroy()
