import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate, migrationSource } from '../migrations/index.ts'
import { dropSql } from '../migrations/sql.ts'
import { root } from '../scripts/folders.ts'
import { dumpSchema } from '../scripts/schema/dump.ts'
import { connectDb } from '../src/shared/infra/db.ts'
import type { Db } from '../src/shared/infra/db.ts'
import { newDatabaseUrl } from '../scripts/harness/database.ts'

describe('the migrations', () => {
  let db: Db
  before(async () => {
    db = connectDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  it('lead back, one by one, to nothing, and forward again to the same schema', async () => {
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
    expect(await migrate(db)).to.deep.equal({ migrations: [], functions: [] })
  })

  it('make the schema that migrations/schema.sql shows', async () => {
    const shown = readFileSync(join(root, 'migrations/schema.sql'), 'utf8')
    expect(await dumpSchema(db), 'Run "npm run schema", and read what it changes.').to.equal(shown)
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
