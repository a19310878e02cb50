import { expect } from 'chai'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../migrations/index.ts'
import { SQL_FOLDER, applySql } from '../migrations/sql.ts'
import { splitTriggers } from '../migrations/triggers.ts'
import { shipSql } from '../scripts/build/builder.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { newId } from '../src/shared/platform/ids.ts'
import { expectBooksToBalance } from './support/books.ts'
import { untilItWaits } from './support/lock-waits.ts'
import { connectTestDb, newDatabaseUrl } from '../scripts/harness/database.ts'
import { anAccount } from '../scripts/harness/factories.ts'
import { anOrder, verbs } from './shared/calls/opening.ts'

/** Partitions get their triggers when they are made (sql/make_months.sql). */
const OF_NO_PARTITION = '(SELECT NOT relispartition FROM pg_class WHERE pg_class.oid = tgrelid)'

describe('the functions of the money', () => {
  let db: Db
  let folder: string
  beforeEach(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 3 })
    folder = mkdtempSync(join(tmpdir(), 'tollgate-sql-'))
    cpSync(SQL_FOLDER, folder, { recursive: true })
  })
  afterEach(async () => {
    rmSync(folder, { recursive: true })
    await db.destroy()
  })

  const apply = () => db.transaction((trx) => applySql(trx, folder))
  const failureOf = (work: Promise<unknown>): Promise<{ code?: string; message: string } | null> =>
    work.then(
      () => null,
      (error: Error) => error,
    )
  const edit = (name: string, find: string, replace: string) => {
    const file = join(folder, `${name}.sql`)
    const text = readFileSync(file, 'utf8')
    expect(text).to.include(find)
    writeFileSync(file, text.replaceAll(find, replace))
  }
  /** Another text of every file, as a release has it that changes functions only. */
  const editAll = () => {
    for (const file of readdirSync(folder)) appendFileSync(join(folder, file), '\n-- As the next release has it.\n')
  }

  /** The tables that a transaction has locked, those of Postgres itself aside. */
  const lockedBy = async (trx: Db): Promise<string[]> => {
    const { rows } = await trx.raw<{ rows: { name: string }[] }>(
      `SELECT DISTINCT c.relname AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
       WHERE l.pid = pg_backend_pid() AND c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`,
    )
    return rows.map(({ name }) => name)
  }

  /** A trigger that is in force, as Postgres writes it. */
  const definitionOf = async (name: string): Promise<string | undefined> => {
    const { rows } = await db.raw<{ rows: { definition: string }[] }>(
      `SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger
       WHERE tgname = ? AND tgenabled = 'O' AND ${OF_NO_PARTITION}`,
      [name],
    )
    return rows[0]?.definition
  }

  it('are in the database as in their files, so that nothing is applied again', async () => {
    expect(await apply()).to.deep.equal([])
    const { rows } = await db.raw<{ rows: { name: string }[] }>(
      `SELECT proname AS name FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace AND proname NOT LIKE '%_rules' ORDER BY 1`,
    )
    expect(rows.map(({ name }) => `${name}.sql`)).to.deep.equal(readdirSync(SQL_FOLDER).toSorted())
  })

  it('have triggers that are written as Postgres writes them, so that none is made again', async () => {
    const { rows } = await db.raw<{ rows: Record<'name' | 'definition', string>[] }>(
      `SELECT tgname AS name, pg_get_triggerdef(oid, true) AS definition FROM pg_trigger
       WHERE NOT tgisinternal AND ${OF_NO_PARTITION}`,
    )
    const written = readdirSync(SQL_FOLDER).flatMap((file) =>
      splitTriggers(readFileSync(join(SQL_FOLDER, file), 'utf8')).triggers.map(({ definition }) => definition),
    )
    expect(written).to.have.members(rows.map(({ definition }) => definition))
  })

  it('are replaced without a lock of any table of the service', async () => {
    editAll()
    const trx = await db.transaction()
    try {
      expect(await applySql(trx, folder)).to.have.length(readdirSync(SQL_FOLDER).length)
      expect(await lockedBy(trx)).to.deep.equal(['applied_sql'])
    } finally {
      await trx.rollback()
    }
  })

  it('lock the accounts first where a trigger changes, and hold no other table while they wait', async () => {
    editAll()
    edit('notify_of_budget', 'UPDATE OF used, held ON', 'UPDATE OF used, held, swept ON')
    const call = await db.transaction()
    await call.raw('LOCK TABLE accounts IN ROW SHARE MODE')
    const trx = await db.transaction()
    try {
      const applied = applySql(trx, folder)
      await untilItWaits(db, 'LOCK TABLE accounts, budget_windows %')
      const { rows } = await db.raw<{ rows: { name: string }[] }>(
        `SELECT relation::regclass::text AS name FROM pg_locks
         WHERE relation = 'budget_windows'::regclass AND mode = 'AccessExclusiveLock'`,
      )
      expect(rows).to.deep.equal([])
      await call.commit()
      await applied
      expect(await lockedBy(trx)).to.deep.equal(['accounts', 'applied_sql', 'budget_windows'])
      await trx.commit()
    } finally {
      for (const one of [call, trx]) if (!one.isCompleted()) await one.rollback()
    }
    expect(await definitionOf('budget_windows_notify')).to.include('UPDATE OF used, held, swept ON')
  })

  it('have their triggers made again where somebody has dropped or disabled one', async () => {
    const names = ['ledger_entries_match_calls', 'ledger_entries_append_only'] as const
    const before = await Promise.all(names.map(definitionOf))
    await db.raw('DROP TRIGGER ledger_entries_match_calls ON ledger_entries')
    await db.raw('ALTER TABLE ledger_entries DISABLE TRIGGER ledger_entries_append_only')
    editAll()
    await apply()
    expect(await Promise.all(names.map(definitionOf))).to.deep.equal(before)
  })

  it('are applied when their file has changed, and only those', async () => {
    edit('refuse_change', 'is append-only', 'only grows (is that clear?)')
    expect(await apply()).to.deep.equal(['refuse_change'])
    expect(await apply()).to.deep.equal([])
    await anAccount(db, 5)
    const refused = await failureOf(db('ledger_entries').delete())
    expect(refused?.message).to.match(/ - ledger_entries only grows \(is that clear\?\)$/)
  })

  it('are applied all together or not at all', async () => {
    edit('check_ledger', 'a ledger entry names', 'an entry names')
    edit('spendable_grants', 'STABLE', 'UNSTEADY')
    expect((await failureOf(apply()))?.message).to.match(/^sql\/spendable_grants\.sql: syntax error/)
    writeFileSync(join(folder, 'spendable_grants.sql'), readFileSync(join(SQL_FOLDER, 'spendable_grants.sql')))
    expect(await apply()).to.deep.equal(['check_ledger'])
  })

  it('are applied later where a lock is not to be had, which the error still says', async () => {
    edit('notify_of_budget', 'UPDATE OF used, held ON', 'UPDATE OF used, held, swept ON')
    const holder = await db.transaction()
    await holder.raw('LOCK TABLE budget_windows IN ACCESS SHARE MODE')
    const tried = db.transaction(async (trx) => {
      await trx.raw(`SET LOCAL lock_timeout = '50ms'`)
      return applySql(trx, folder)
    })
    const error = await failureOf(tried)
    await holder.rollback()
    expect(error).to.include({
      code: '55P03',
      message: 'sql/notify_of_budget.sql: canceling statement due to lock timeout',
    })
    expect(await apply()).to.deep.equal(['notify_of_budget'])
  })

  it('keep their parameters and return type under the same name', async () => {
    edit('open_calls', 'max_request_bytes bigint)', 'max_request_bytes bigint, hint text)')
    expect((await failureOf(apply()))?.message).to.match(
      /^sql\/open_calls\.sql changes what open_calls takes or answers: give the function a new name/,
    )
    cpSync(SQL_FOLDER, folder, { recursive: true })
    writeFileSync(join(folder, 'close_calls.sql'), 'SELECT 1')
    expect((await failureOf(apply()))?.message).to.equal('sql/close_calls.sql does not define a function close_calls.')
  })

  it('serve two releases side by side: the old one keeps its function', async () => {
    const next = 'open_calls_2'
    renameSync(join(folder, 'open_calls.sql'), join(folder, `${next}.sql`))
    edit(next, 'FUNCTION open_calls', `FUNCTION ${next}`)
    edit(next, 'max_request_bytes bigint)', 'max_request_bytes bigint, hint text)')
    expect(await apply()).to.deep.equal([next])

    const account = await anAccount(db, 100)
    expect(await verbs(db).open(anOrder(account, 30))).to.include({ opened: true, balance: 70 })
    const request = {
      id: newId('call'),
      account_id: account.id,
      key_id: account.keyId,
      modality: 'chat',
      model: 'm',
      price: { credits: 1 },
      amount: 20,
      lease_seconds: 6,
      deadline_seconds: 60,
      request_bytes: 1,
    }
    const { rows } = await db.raw<{ rows: object[] }>(`SELECT * FROM ${next}(?::jsonb, 10, 1000, 'new')`, [
      JSON.stringify([request]),
    ])
    expect(rows[0]).to.include({ outcome: 'opened', balance: 50 })
    await expectBooksToBalance(db)
  })

  it('are dropped before a migration is undone, also those of earlier releases', async () => {
    renameSync(join(folder, 'spendable_grants.sql'), join(folder, 'spendable_grants_2.sql'))
    edit('spendable_grants_2', 'spendable_grants', 'spendable_grants_2')
    await apply()
    const { migrationSource } = await import('../migrations/index.ts')
    await db.migrate.down({ migrationSource })
    const { rows } = await db.raw<{ rows: object[] }>(
      // The rules of a table's rows are functions too; they belong to a migration.
      `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname NOT LIKE '%\\_rules'`,
    )
    expect(rows).to.deep.equal([])
    expect((await migrate(db)).functions).to.have.members(
      readdirSync(SQL_FOLDER).map((file) => file.replace('.sql', '')),
    )
  })

  it('are part of the build, without deleted files', () => {
    const project = mkdtempSync(join(tmpdir(), 'tollgate-ship-'))
    try {
      cpSync(SQL_FOLDER, join(project, 'sql'), { recursive: true })
      cpSync(SQL_FOLDER, join(project, 'dist', 'sql'), { recursive: true })
      writeFileSync(join(project, 'dist', 'sql', 'gone.sql'), '')
      shipSql(project)
      expect(readdirSync(join(project, 'dist', 'sql'))).to.deep.equal(readdirSync(SQL_FOLDER))
    } finally {
      rmSync(project, { recursive: true })
    }
  })
})
