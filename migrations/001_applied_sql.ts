/**
 * What `migrate` remembers of `sql/`, the folder of the money's functions and triggers: which files it has applied.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE applied_sql (
      name text NOT NULL,
      hash text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT applied_sql_pkey PRIMARY KEY (name)
    );
    COMMENT ON TABLE applied_sql IS 'The functions of sql/ that are in this database, those of earlier releases too.';
    COMMENT ON COLUMN applied_sql.name IS 'The function, which is the file''s name without .sql.';
    COMMENT ON COLUMN applied_sql.hash IS 'SHA-256 of the file as it was applied, in hex.';
    COMMENT ON COLUMN applied_sql.applied_at IS 'When it was.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE applied_sql')
}
