import { expect } from 'chai'
import { ROW_RULES } from '../migrations/014_row_rules.ts'
import { migrationSource } from '../migrations/index.ts'
import { dropSql } from '../migrations/sql.ts'
import { connectTestDb, newDatabaseUrl } from '../scripts/harness/database.ts'
import type { Db } from '../src/shared/infra/db.ts'

const ROWS = 6000

// What a column may have, by its type: around every bound of a rule. Texts also have the words of the rules.
const VALUES: Record<string, (string | null)[]> = {
  bigint: [null, '-1', '0', '1', '2', '9007199254740991', '9007199254740992', '1000000000000', '1000000000001'],
  integer: [null, '-1', '0', '1', '200'],
  'timestamp with time zone': [null, '2030-01-01'],
  boolean: [null, 'true', 'false'],
  uuid: [null, '0190c5a0-0000-7000-8000-000000000001'],
  jsonb: [null, '{}'],
  bytea: [null, '\\x00'],
}

const ENDED = { finished_at: '2030-01-01', http_status: 200, lease_until: '2030-01-01', deadline_at: '2030-01-01' }
const COUNTS = { credits_uncollected: 0, request_bytes: 0, count: 1, price: {}, modality: 'chat', input_tokens: 1 }

/** Rows that keep all rules, of which the others are made. */
const GOOD: Record<string, object[]> = {
  accounts: [
    { status: 'active', credits: 5, debt: 0, outstanding_calls: 0, request_bytes: 0 },
    { status: 'suspended', credits: 0, debt: 5, deleted_at: '2030-01-01', emptied_at: '2030-01-01' },
  ].map((row) => ({ low_balance_state: 'armed', top_up_state: 'armed', ...row })),
  grants: [
    { origin: 'signup', amount: 5, remaining: 5, open: true, expires_at: '2030-01-01' },
    { origin: 'purchase', amount: 5, remaining: 0, open: false, payment_id: '0190c5a0-0000-7000-8000-000000000001' },
  ],
  ledger_entries: [
    { kind: 'charge', amount: -5, call_id: '0190c5a0-0000-7000-8000-000000000001' },
    { kind: 'grant', amount: 5 },
    { kind: 'reversal', amount: -5, payment_id: '0190c5a0-0000-7000-8000-000000000001' },
    { kind: 'adjustment', amount: -5, deduction_id: '0190c5a0-0000-7000-8000-000000000001' },
  ].map((row) => ({ seq: 1, balance_after: 5, ...row })),
  calls: [
    { status: 'queued', credits_precharged: 2, credits: 2, lease_until: '2030-01-01', deadline_at: '2030-01-01' },
    { status: 'succeeded', credits_precharged: 2, credits: 1, ...ENDED },
    { status: 'failed', credits_precharged: 2, credits: 0, error_type: 'other', ...ENDED },
    { status: 'rejected', credits_precharged: 0, credits: 0, error_type: 'other', ...ENDED },
  ].map((row) => ({ ...COUNTS, ...row })),
}

/** The constraints before 014, as conditions by their name; none of these tables had others. */
async function earlier(table: string): Promise<Map<string, string>> {
  const db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  try {
    await db.transaction(dropSql)
    const names = await migrationSource.getMigrations([])
    for (const _ of names.slice(names.indexOf('014_row_rules'))) await db.migrate.down({ migrationSource })
    const { rows } = await db.raw<{ rows: { name: string; condition: string }[] }>(
      `SELECT conname AS name, pg_get_expr(conbin, conrelid) AS condition FROM pg_constraint
       WHERE conrelid = ?::regclass AND contype = 'c' ORDER BY 1`,
      [table],
    )
    return new Map(rows.map(({ name, condition }) => [name, condition]))
  } finally {
    await db.destroy()
  }
}

/** Fills a temporary table with rows that keep all rules but for the columns that were changed, a tenth of them. */
async function fill(trx: Db, table: string): Promise<void> {
  const { rows: columns } = await trx.raw<{ rows: { name: string; type: string }[] }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ?`,
    [table],
  )
  const words = [
    ...Object.values(ROW_RULES[table]!)
      .join()
      .matchAll(/[a-z]{4,}/g),
  ].map(([word]) => word)
  const picked = columns.map(({ name, type }) => {
    // Rules of later columns came later.
    if (!Object.values(ROW_RULES[table]!).some((rule) => rule.includes(`r.${name}`))) return `good."${name}"`
    const values = VALUES[type] ?? [null, 'other', ...new Set(words)]
    const list = values.map((value) => (value === null ? 'NULL' : `'${value}'`)).join()
    const other = `(ARRAY[${list}]::${type}[])[1 + floor(random() * ${values.length})::integer]`
    return `CASE WHEN random() < 0.1 THEN ${other} ELSE good."${name}" END AS "${name}"`
  })
  await trx.raw('SELECT setseed(0.5)')
  await trx.raw(
    `CREATE TEMPORARY TABLE made ON COMMIT DROP AS SELECT ${picked.join()}
     FROM generate_series(1, ${ROWS}), jsonb_populate_recordset(NULL::${table}, ?::jsonb) good`,
    [JSON.stringify(GOOD[table]!)],
  )
}

describe('the rules of a row', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  for (const [table, rules] of Object.entries(ROW_RULES)) {
    it(`of ${table} refuse what the check constraints refused, and nothing else`, async () => {
      const conditions = await earlier(table)
      expect([...conditions.keys()]).to.deep.equal(Object.keys(rules).toSorted())
      await db.transaction(async (trx) => {
        await fill(trx, table)
        await trx.raw(`CREATE FUNCTION pg_temp.broken(r ${table}) RETURNS text LANGUAGE plpgsql AS $$
          DECLARE name text;
          BEGIN
            PERFORM keeps_rules(r);
            RETURN NULL;
          EXCEPTION WHEN check_violation THEN
            GET STACKED DIAGNOSTICS name = CONSTRAINT_NAME;
            RETURN name;
          END $$`)
        const were = [...conditions].map(([name, condition]) => `CASE WHEN NOT (${condition}) THEN '${name}' END`)
        const { rows } = await trx.raw<{ rows: { now: string | null; before: string[] }[] }>(`
          SELECT pg_temp.broken(made::text::${table}) AS now, array_remove(ARRAY[${were.join()}], NULL) AS before
          FROM made GROUP BY 1, 2`)
        for (const { now, before } of rows) {
          if (now === null) expect(before).to.deep.equal([])
          else expect(before).to.include(now)
        }
        // There are rows that break nothing, and for each rule those that break it alone.
        const seen = rows.filter(({ before }) => before.length < 2).map(({ before }) => before[0] ?? null)
        expect(new Set(seen)).to.deep.equal(new Set([null, ...conditions.keys()]))
      })
    })
  }
})
