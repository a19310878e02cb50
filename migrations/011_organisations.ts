/**
 * Organisations: the invitations to become a member of an account. What makes an account an organisation, and a user a
 * member of it, are columns of `accounts` and `members`.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Invitations that can still be accepted. One that was accepted or revoked is deleted.
    CREATE TABLE invitations (
      id uuid NOT NULL, -- UUIDv7; inv_… in text.
      account_id uuid NOT NULL, -- To which organisation.
      account_kind text NOT NULL DEFAULT 'organisation', -- The kind of that account.
      email text NOT NULL, -- Who is invited: ASCII, lowercased.
      role text NOT NULL, -- What they become: admin or member.
      budget_credits credits, -- The budget that they get, as in budgets; null: none.
      budget_period text, -- Its period.
      invited_by uuid NOT NULL, -- Which member invites them. The invitation ends with that membership.
      mail_id uuid NOT NULL, -- The mail with the link, of whose id the token is made. Its row may be gone.
      token_hash bytea NOT NULL, -- SHA-256 of the token.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      expires_at timestamptz NOT NULL, -- From then on the token is refused.
      CONSTRAINT invitations_pkey PRIMARY KEY (id),
      CONSTRAINT invitations_once_an_address UNIQUE (account_id, email),
      CONSTRAINT invitations_token_hash_key UNIQUE (token_hash),
      CONSTRAINT invitations_account_fkey FOREIGN KEY (account_id, account_kind) REFERENCES accounts (id, kind),
      CONSTRAINT invitations_inviter_fkey FOREIGN KEY (invited_by, account_id)
        REFERENCES members (user_id, account_id) ON DELETE CASCADE,
      CONSTRAINT invitations_budget_whole CHECK ((budget_credits IS NULL) = (budget_period IS NULL)),
      CONSTRAINT invitations_email_is_lowercase CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
      CONSTRAINT invitations_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
      CONSTRAINT invitations_live_a_week CHECK (expires_at <= created_at + interval '7 days'),
      CONSTRAINT invitations_period_known CHECK (budget_period IN ('total', 'day', 'week', 'month')),
      CONSTRAINT invitations_role_known CHECK (role IN ('admin', 'member')),
      CONSTRAINT invitations_to_organisations_alone CHECK (account_kind = 'organisation')
    );
    CREATE INDEX invitations_expiry ON invitations (expires_at);
    CREATE INDEX invitations_inviter ON invitations (invited_by, account_id);
    CREATE INDEX invitations_mail ON invitations (mail_id);
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE invitations')
}
