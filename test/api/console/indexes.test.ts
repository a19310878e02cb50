import { expect } from 'chai'
import { listKeys } from '../../../src/shared/accounts/api-keys.ts'
import { listCalls } from '../../../src/shared/calls/call-list.ts'
import { usageByDay } from '../../../src/shared/calls/usage.ts'
import { connectDb } from '../../../src/shared/db.ts'
import type { Db } from '../../../src/shared/db.ts'
import { newId } from '../../../src/shared/ids.ts'
import { entriesOfCall, listEntries, listGrants } from '../../../src/shared/ledger/ledger.ts'
import { testDatabaseUrl } from '../../support/database.ts'

const mine = newId('account')
const place = { micros: 1_767_225_600_123_456, id: newId('call') }

/** Every read of the console, and the index that it goes by. */
const READS: Record<string, { read: (db: Db) => Promise<unknown>; index: string; sorts?: boolean }> = {
  'calls': { read: (db) => listCalls(db, mine, {}, 50, null), index: 'calls_user_time' },
  'a later page of calls': { read: (db) => listCalls(db, mine, {}, 50, place), index: 'calls_user_time' },
  'calls of some days and a model': {
    read: (db) =>
      listCalls(db, mine, { model: 'a', status: 'failed', from: new Date(0), before: new Date() }, 50, place),
    index: 'calls_user_time',
  },
  'usage': { read: (db) => usageByDay(db, mine, '2026-01-01', '2026-01-31'), index: 'calls_user_time', sorts: true },
  'the ledger': { read: (db) => listEntries(db, mine, 50, null), index: 'ledger_entries_pkey' },
  'a later page of the ledger': { read: (db) => listEntries(db, mine, 50, 1000), index: 'ledger_entries_pkey' },
  'entries of a call': {
    read: (db) => entriesOfCall(db, newId('call')),
    index: 'ledger_entries_once_per_call',
    sorts: true,
  },
  'grants': { read: (db) => listGrants(db, mine), index: 'grants_user' },
  'keys': { read: (db) => listKeys(db, mine), index: 'api_keys_user' },
}

describe('what the console reads', () => {
  let db: Db
  before(async () => {
    db = connectDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  async function planOf(read: (db: Db) => Promise<unknown>): Promise<string> {
    const seen: { sql: string; bindings: readonly unknown[] }[] = []
    const note = (query: { sql: string; bindings: readonly unknown[] }): number => seen.push(query)
    db.on('query', note)
    await read(db)
    db.removeListener('query', note)
    expect(seen).to.have.length(1)
    return db.transaction(async (trx) => {
      // The tables of tests are so small that scanning and sorting them would cost nothing.
      for (const way of ['seqscan', 'bitmapscan', 'sort']) await trx.raw(`SET LOCAL enable_${way} = off`)
      // Knex shows the statement with numbered places; raw takes it back with question marks.
      const { rows } = await trx.raw<{ rows: Record<string, string>[] }>(
        `EXPLAIN ${seen[0]!.sql.replaceAll(/\$\d+/g, '?')}`,
        [...seen[0]!.bindings] as string[],
      )
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
  }

  for (const [name, { read, index, sorts = false }] of Object.entries(READS)) {
    it(`goes by an index${sorts ? '' : ' that has its order'}: ${name}`, async () => {
      const plan = await planOf(read)
      expect(plan).to.contain(index)
      expect(plan).not.to.match(/Seq Scan/)
      if (!sorts) expect(plan).not.to.match(/Sort/)
    })
  }
})
