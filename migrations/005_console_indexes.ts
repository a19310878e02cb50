/**
 * The index behind the console's lists of calls and its usage. Both read one account by the time of acceptance: pages
 * are intervals of (created_at, id), and a day is one too. It takes the place of the index by id, whose order differs a
 * little (ids are made before a body is read, rows when it was), so that writing a call costs what it did.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    DROP INDEX calls_user;
    CREATE INDEX calls_user_time ON calls (user_id, created_at DESC, id DESC);
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP INDEX calls_user_time;
    CREATE INDEX calls_user ON calls (user_id, id DESC);
  `)
}
