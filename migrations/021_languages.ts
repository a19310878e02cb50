/** The language of users, and of each mail: that which its reader had when it was requested. */
import type { Knex } from 'knex'

const TABLES = { users: 'Of mails to them: a tag such as zh-CN.', mails: 'What it is written in: a tag such as zh-CN.' }

export async function up(db: Knex): Promise<void> {
  for (const [table, remark] of Object.entries(TABLES))
    await db.raw(`
      ALTER TABLE ${table} ADD COLUMN language text NOT NULL DEFAULT 'en',
        ADD CONSTRAINT ${table}_language_known CHECK (language IN ('en', 'zh-CN'));
      COMMENT ON COLUMN ${table}.language IS '${remark}'`)
}

export async function down(db: Knex): Promise<void> {
  for (const table of Object.keys(TABLES)) await db.raw(`ALTER TABLE ${table} DROP COLUMN language`)
}
