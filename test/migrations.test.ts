import { expect } from 'chai'
import { migrationSource } from '../migrations/index.ts'
import { connectDb } from '../src/shared/db.ts'
import type { Db } from '../src/shared/db.ts'
import { newDatabaseUrl } from './support/database.ts'

/** Everything in the schema but the migrations' own tables, as comparable lines. */
async function schemaOf(db: Db): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { line: string }[] }>(`
    SELECT line FROM (
      SELECT format('column %s.%s %s %s %s', c.table_name, c.column_name, c.data_type, c.is_nullable, c.column_default) AS line, c.table_name AS of
        FROM information_schema.columns c WHERE c.table_schema = 'public'
      UNION ALL SELECT format('constraint %s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), conrelid::regclass::text
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      UNION ALL SELECT indexdef, tablename FROM pg_indexes WHERE schemaname = 'public'
      UNION ALL SELECT format('trigger %s', pg_get_triggerdef(oid)), tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal
      UNION ALL SELECT format('function %s', pg_get_functiondef(oid)), '' FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ) everything WHERE of NOT LIKE 'knex%' ORDER BY line`)
  return rows.map((row) => row.line)
}

describe('the migrations', () => {
  let db: Db
  before(async () => { db = connectDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 }) })
  after(() => db.destroy())

  it('lead back, one by one, to nothing, and forward again to the same schema', async () => {
    const whole = await schemaOf(db)
    const stages: string[][] = []
    const names = await migrationSource.getMigrations([])
    for (const _ of names) {
      stages.push(await schemaOf(db))
      await db.migrate.down({ migrationSource })
    }
    expect(await schemaOf(db)).to.deep.equal([])
    for (const _ of names) {
      await db.migrate.up({ migrationSource })
      expect(await schemaOf(db)).to.deep.equal(stages.pop())
    }
    expect(await schemaOf(db)).to.deep.equal(whole)
  })

  it('change nothing when they run again', async () => {
    const [, applied] = await db.migrate.latest({ migrationSource }) as [number, string[]]
    expect(applied).to.deep.equal([])
  })

  it('name every constraint, and say what every table and column is', async () => {
    const { rows } = await db.raw<{ rows: { what: string }[] }>(`
      SELECT format('column %s.%s', c.relname, a.attname) AS what FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
          AND c.relname NOT LIKE 'knex%' AND col_description(c.oid, a.attnum) IS NULL
      UNION ALL SELECT format('table %s', c.relname) FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'knex%' AND obj_description(c.oid) IS NULL
      UNION ALL SELECT format('constraint %s', conname) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND conname ~ '_(check|fkey|key)[0-9]+$'`)
    expect(rows.map((row) => row.what)).to.deep.equal([])
  })

  it('keep credits in integers that cannot be NaN', async () => {
    const { rows } = await db.raw<{ rows: { type: string }[] }>(`
      SELECT DISTINCT data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public' AND (column_name LIKE '%credits%' OR column_name IN ('amount', 'remaining', 'balance_after'))`)
    expect(rows.map((row) => row.type)).to.deep.equal(['bigint'])
  })
})
