/**
 * The networks that users have logged in from, as keyed hashes.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE login_networks (
      user_id uuid NOT NULL,
      network_hash bytea NOT NULL,
      last_login_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT login_networks_pkey PRIMARY KEY (user_id, network_hash),
      CONSTRAINT login_networks_user_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
      CONSTRAINT login_networks_hash_is_sha256 CHECK (octet_length(network_hash) = 32)
    );
    CREATE INDEX login_networks_age ON login_networks (last_login_at);
    COMMENT ON TABLE login_networks
      IS 'Networks that a user has logged in from: guesses of others do not keep them out there.';
    COMMENT ON COLUMN login_networks.user_id IS 'Who logged in.';
    COMMENT ON COLUMN login_networks.network_hash
      IS 'HMAC-SHA-256 under APP_SECRET of the IPv4 address, or of the /64 of IPv6.';
    COMMENT ON COLUMN login_networks.last_login_at IS 'The last login from there.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE login_networks')
}
