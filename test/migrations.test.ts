import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate, migrationSource, missingSchema } from '../migrations/index.ts'
import type { Migrated } from '../migrations/index.ts'
import { dropSql } from '../migrations/sql.ts'
import { root } from '../scripts/folders.ts'
import { dumpSchema } from '../scripts/schema/dump.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { chat } from '../scripts/harness/calling.ts'
import { connectTestDb, newDatabaseUrl } from '../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../scripts/harness/factories.ts'
import { startGateway } from '../scripts/harness/harness.ts'
import { loadAccounts, loadHistory } from '../scripts/harness/loaded-books.ts'
import { makeMonths, monthsAhead } from '../src/shared/calls/months.ts'
import { gatewayError } from '../src/shared/platform/errors.ts'
import { aResult, opened, verbs } from './shared/calls/opening.ts'
import { expectBooksToBalance } from './support/books.ts'

/** The first partition of a table: everything up to the end of the month that a week from now is in. */
const nameOfFirst = (table: string): string =>
  `${table}_until_${new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 7).replace('-', '_')}`

describe('the migrations', () => {
  let db: Db
  let own: { DATABASE_URL: string; DATABASE_SSL: 'off' }
  before(async () => {
    own = { DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off' }
    db = connectTestDb({ ...own, DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  it('can be undone one by one, and applied again with the same schema', async () => {
    const whole = await dumpSchema(db)
    await db.transaction(dropSql)
    const stages: string[] = []
    const names = await migrationSource.getMigrations([])
    for (const _ of names) {
      stages.push(await dumpSchema(db))
      await db.migrate.down({ migrationSource })
    }
    expect(await dumpSchema(db)).not.to.match(/CREATE/)
    for (const _ of names) {
      await db.migrate.up({ migrationSource })
      expect(await dumpSchema(db)).to.equal(stages.pop())
    }
    await migrate(db)
    expect(await dumpSchema(db)).to.equal(whole)
  })

  it('change nothing when they run again', async () => {
    expect(await migrate(db)).to.deep.equal({ migrations: [], functions: [], newer: [] })
  })

  it('make the schema of migrations/schema.sql', async () => {
    const shown = readFileSync(join(root, 'migrations/schema.sql'), 'utf8')
    expect(await dumpSchema(db), 'Run "npm run schema", and read what it changes.').to.equal(shown)
  })

  it('name every constraint, and comment every table and column', async () => {
    const { rows } = await db.raw<{ rows: { what: string }[] }>(`
      SELECT format('column %s.%s', c.relname, a.attname) AS what
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
          AND c.relname NOT LIKE 'knex%' AND col_description(c.oid, a.attnum) IS NULL
      UNION ALL SELECT format('table %s', c.relname) FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'knex%'
          AND obj_description(c.oid) IS NULL
      UNION ALL SELECT format('constraint %s', conname) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND conname ~ '_(check|fkey|key)[0-9]+$'`)
    expect(rows.map((row) => row.what)).to.deep.equal([])
  })

  it('keep credits in integers that cannot be NaN', async () => {
    const { rows } = await db.raw<{ rows: { type: string }[] }>(`
      SELECT DISTINCT data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public'
        AND (column_name LIKE '%credits%' OR column_name IN ('amount', 'remaining', 'balance_after'))`)
    expect(rows.map((row) => row.type)).to.deep.equal(['bigint'])
  })

  it('refuse a database of a build from before 0.2.0, and leave it as it is', async () => {
    const old = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    try {
      await old('knex_migrations').delete()
      await old('knex_migrations').insert({ name: '001_applied_sql', batch: 1, migration_time: new Date() })
      const said = await migrate(old).catch((error: Error) => error.message)
      expect(said).to.match(/a build from before 0\.2\.0.*point DATABASE_URL to a new, empty database/)
      expect(await old('knex_migrations').pluck('name')).to.deep.equal(['001_applied_sql'])
    } finally {
      await old.destroy()
    }
  })

  it('leave those of a later release and its functions as they are', async () => {
    const [later] = await db('knex_migrations').insert(
      { name: '999_later', batch: 99, migration_time: new Date() },
      'id',
    )
    await db('applied_sql').where({ name: 'refuse_change' }).update({ hash: 'another' })
    expect(await migrate(db)).to.deep.equal({ migrations: [], functions: [], newer: ['999_later'] })
    expect(await missingSchema(db)).to.deep.equal([])
    await db('knex_migrations')
      .where(later as object)
      .delete()

    await db('applied_sql').where({ name: 'refuse_change' }).update({ release: '99.0.0' })
    expect((await migrate(db)).functions).to.deep.equal([])
    await db('applied_sql').where({ name: 'refuse_change' }).update({ release: '0.0.1' })
    expect(await missingSchema(db)).to.deep.equal(['sql/refuse_change'])
    expect((await migrate(db)).functions).to.deep.equal(['refuse_change'])
    expect(await missingSchema(db)).to.deep.equal([])
  })

  it('keep no live call waiting for a second behind a lock that is held, and finish when it is free', async () => {
    const column = {
      up: async (on: Db) => void (await on.raw('ALTER TABLE calls ADD COLUMN made_up integer')),
      down: async () => {},
    }
    const gateway = await startGateway()
    const account = await anAccount(gateway.db, 1000)
    const migrating = connectTestDb(gateway.config)
    /** How long a statement waits for a lock as calls take it, by Postgres' own clocks: the rest may be slow. */
    const waitedMs = async (): Promise<number> => {
      const { rows } = await gateway.db.raw<{ rows: { ms: number }[] }>(`
        SELECT (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000)::float AS ms,
          EXISTS (SELECT FROM calls)`)
      return rows[0]!.ms
    }
    const holder = await gateway.db.transaction()
    // As a dump holds it.
    await holder.raw('LOCK TABLE calls IN ACCESS SHARE MODE')
    const waits: string[] = []
    try {
      const migrated = migrate(migrating, { migrations: { '999_column': column }, say: (what) => waits.push(what) })
      const waited: number[] = []
      for (let calls = 0; waits.length === 0 || calls < 10; calls++) {
        let isAnswered = false
        const calling = chat(gateway, account, 'hello').finally(() => (isAnswered = true))
        // Again and again: the lock may come after the first look.
        do waited.push(await waitedMs())
        while (!isAnswered)
        expect((await calling).status).to.equal(200)
      }
      expect(Math.max(...waited)).to.be.below(1000)
      await holder.commit()
      expect((await migrated).migrations).to.deep.equal(['999_column'])
      expect(waits).to.deep.equal(['999_column'])
    } finally {
      if (!holder.isCompleted()) await holder.rollback()
      await migrating.destroy()
      await gateway.db.raw('ALTER TABLE calls DROP COLUMN IF EXISTS made_up')
      await gateway.db('knex_migrations').where({ name: '999_column' }).delete()
      await gateway.stop()
    }
  })

  it('make the table of all calls the first of its months, and a call that was open before ends after it', async () => {
    const own = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    try {
      const accounts = await loadAccounts(own, 2)
      await loadHistory(own, accounts, 100)
      const account = await anAccount(own, 100)
      const [settled, refunded] = [await opened(verbs(own), account, 7), await opened(verbs(own), account, 9)]
      await own.migrate.down({ migrationSource })
      await migrate(own)
      const { rows } = await own.raw<{ rows: { name: string; rows: number }[] }>(`
        SELECT tableoid::regclass::text AS name, count(*) AS rows FROM ledger_entries GROUP BY 1`)
      expect(rows).to.deep.equal([{ name: nameOfFirst('ledger_entries'), rows: 2 + 200 + 1 + 2 }])
      await verbs(own).settle(settled, 'image', aResult(3))
      await verbs(own).refund(refunded, gatewayError('upstream_failed'))
      expect(await balanceOf(own, account.id)).to.equal(97)
      await makeMonths(own)
      expect(await monthsAhead(own)).to.equal(3)
      await own('usage_watermark').update({ ledger_from: 'infinity' })
      await expectBooksToBalance(own)
    } finally {
      await own.destroy()
    }
  })

  it('replace functions while calls are open, and wait for none of them', async () => {
    const gateway = await startGateway()
    const account = await anAccount(gateway.db, 100_000)
    const migrating = connectTestDb(gateway.config)
    const status = async (): Promise<number> => (await chat(gateway, account, 'hello')).status
    const open = await gateway.db.transaction()
    const waits: string[] = []
    let isDone = false
    let migrated: Promise<Migrated> | undefined
    try {
      await open.raw('LOCK TABLE accounts, calls, grants, ledger_entries, payments IN ROW EXCLUSIVE MODE')
      const functions = await gateway.db('applied_sql').update({ hash: 'another', release: '0.0.1' })
      migrated = migrate(migrating, { say: (what) => waits.push(what) }).finally(() => (isDone = true))
      const answers: number[] = []
      while (!isDone && waits.length === 0) answers.push(...(await Promise.all([status(), status(), status()])))
      expect(waits).to.deep.equal([])
      expect((await migrated).functions).to.have.length(functions)
      expect(new Set(answers)).to.deep.equal(new Set([200]))
    } finally {
      await open.rollback()
      await migrated?.catch(() => {})
      await migrating.destroy()
      await gateway.stop()
    }
  })

  it('make indexes while the service runs, and again after an interrupted build', async () => {
    const statement = 'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS made_up ON leases (held_until)'
    const index = { up: async () => {}, down: async () => {}, concurrently: { made_up: statement } }
    const rows = ['one', 'other'].map((name) => ({ name, held_until: '2030-01-01' }))
    await db('leases').insert(rows)
    try {
      expect(await migrate(db, { migrations: { '999_index': index } }).catch((error: Error) => error.message)).to.match(
        /could not create unique index/,
      )
      await db('leases').delete()
      expect((await migrate(db, { migrations: { '999_index': index } })).migrations).to.deep.equal(['999_index'])
      const { rows: valid } = await db.raw<{ rows: object[] }>(
        `SELECT indisvalid FROM pg_index WHERE indexrelid = 'made_up'::regclass`,
      )
      expect(valid).to.deep.equal([{ indisvalid: true }])
    } finally {
      await db('leases').delete()
      await db.raw('DROP INDEX IF EXISTS made_up')
      await db('knex_migrations').where({ name: '999_index' }).delete()
    }
  })
})
