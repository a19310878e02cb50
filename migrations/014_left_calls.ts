/**
 * The indexes by which a retry finds its call: the oldest of the same request whose client disconnected is the first
 * entry of one, however many there are; the other has the calls that a client waits for. The condition of each is one
 * that no other index fulfils, so that no plan reads all open calls, or all of an account.
 */
import type { Knex } from 'knex'

const INDEXES = {
  calls_left_in_order: 'calls (request_hash, account_id, created_at, id) WHERE abandoned_at IS NOT NULL',
  calls_waited_for: 'calls (account_id, request_hash) WHERE coalesce(finished_at, abandoned_at) IS NULL',
}

/** Those that they replace. */
const FORMER = {
  calls_left: 'calls (request_hash) WHERE abandoned_at IS NOT NULL',
  calls_to_join: `calls (account_id, request_hash, id DESC) WHERE finished_at IS NULL OR abandoned_at IS NOT NULL`,
}

export const concurrently = Object.fromEntries(
  Object.entries(INDEXES).map(([name, on]) => [name, `CREATE INDEX CONCURRENTLY ${name} ON ${on}`]),
)

export async function up(db: Knex): Promise<void> {
  // They exist by now, unless knex' own command migrates.
  await replace(db, FORMER, INDEXES)
}

export async function down(db: Knex): Promise<void> {
  await replace(db, INDEXES, FORMER)
}

async function replace(db: Knex, old: Record<string, string>, by: Record<string, string>): Promise<void> {
  for (const [name, on] of Object.entries(by)) await db.raw(`CREATE INDEX IF NOT EXISTS ${name} ON ${on}`)
  for (const name of Object.keys(old)) await db.raw(`DROP INDEX ${name}`)
}
