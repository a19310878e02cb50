/**
 * One plan for every run of the money's statements, per connection. Left to itself Postgres plans them anew each time, since it takes
 * an array to be longer than it is and a plan for any array to be dear; the planning then costs more than the run, while the
 * accounts' rows are locked (measured in docs/performance.md). These statements have only one good plan: see 003.
 */
import type { Knex } from 'knex'

const FUNCTIONS = ['open_calls(jsonb, integer)', 'end_calls(jsonb, text[])']

export async function up(db: Knex): Promise<void> {
  for (const name of FUNCTIONS) await db.raw(`ALTER FUNCTION ${name} SET plan_cache_mode = force_generic_plan`)
}

export async function down(db: Knex): Promise<void> {
  for (const name of FUNCTIONS) await db.raw(`ALTER FUNCTION ${name} RESET plan_cache_mode`)
}
