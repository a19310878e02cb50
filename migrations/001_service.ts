/**
 * What the service keeps about itself: the files of `sql/` that were applied, turns at work, and circuits that opened.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- The functions of sql/ that are in this database, those of earlier releases too.
    CREATE TABLE applied_sql (
      name text NOT NULL, -- The function, which is the file's name without .sql.
      hash text NOT NULL, -- SHA-256 of the file as it was applied, in hex.
      applied_at timestamptz NOT NULL DEFAULT now(), -- When it was.
      release text NOT NULL, -- The version of the release that applied it.
      CONSTRAINT applied_sql_pkey PRIMARY KEY (name)
    );

    -- Work that one process does at a time, whatever happens to Redis.
    CREATE TABLE leases (
      name text NOT NULL, -- The work.
      held_until timestamptz NOT NULL, -- Until when somebody does it.
      CONSTRAINT leases_pkey PRIMARY KEY (name)
    );

    -- When circuits of upstreams opened; kept for a week.
    CREATE TABLE circuit_openings (
      minute timestamptz NOT NULL, -- In which minute.
      upstream text NOT NULL, -- Of which upstream, by its name in the catalogue.
      openings integer NOT NULL, -- How often, all workers together.
      recovered_at timestamptz, -- When the upstream was found to work again; null: not yet.
      CONSTRAINT circuit_openings_pkey PRIMARY KEY (minute, upstream),
      CONSTRAINT circuit_openings_positive CHECK (openings > 0)
    );
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE circuit_openings, leases, applied_sql')
}
