/**
 * One sign-up grant an account, whatever grants it; and the mailbox of a link, by which mails are counted.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE UNIQUE INDEX grants_signup_once ON grants (user_id) WHERE origin = 'signup';

    ALTER TABLE one_time_tokens ADD COLUMN mailbox text;
    UPDATE one_time_tokens SET mailbox = email;
    ALTER TABLE one_time_tokens ALTER COLUMN mailbox SET NOT NULL;
    CREATE INDEX one_time_tokens_mailbox ON one_time_tokens (mailbox, purpose, created_at);
    COMMENT ON COLUMN one_time_tokens.mailbox IS 'The mailbox that the address leads to, without tags: the hourly limit counts by it.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE one_time_tokens DROP COLUMN mailbox;
    DROP INDEX grants_signup_once;
  `)
}
