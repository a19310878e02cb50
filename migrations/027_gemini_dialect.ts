/**
 * Chats in a further dialect: that of Google's Gemini API. The rules of `calls` are one function
 * (`013_row_rules.ts`), which is replaced: what allows more needs no look at the rows that exist.
 */
import type { Knex } from 'knex'

/** The last dialect before it, and both, as Postgres prints them. */
const BEFORE = `'responses'::text`
const AFTER = `${BEFORE}, 'gemini'::text`

const rewrite = (db: Knex, before: string, after: string): Promise<void> =>
  db.raw(`
    DO $do$ BEGIN
      EXECUTE replace(pg_get_functiondef('calls_rules'::regproc), $a$${before}$a$, $a$${after}$a$);
      EXECUTE format('COMMENT ON FUNCTION calls_rules IS %L',
        replace(obj_description('calls_rules'::regproc), $a$${before}$a$, $a$${after}$a$));
    END $do$`)

export const up = (db: Knex): Promise<void> => rewrite(db, BEFORE, AFTER)

export const down = (db: Knex): Promise<void> => rewrite(db, AFTER, BEFORE)
