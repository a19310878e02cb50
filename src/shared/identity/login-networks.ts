/**
 * The networks that somebody has logged in from: guesses of others at their password do not lock them out, and their
 * own do not need to be slowed down (docs/accounts-and-mail.md#guesses). Only keyed hashes are stored.
 */
import { createHmac } from 'node:crypto'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { UserId } from '../platform/ids.ts'
import { networkOf } from '../platform/net/networks.ts'

/** Networks of one user that are remembered, the latest. */
const MOST = 50

/** How long one is remembered after the last login from it, in days. */
const LIFE_DAYS = 180

/** A client's network, hashed under APP_SECRET: another secret forgets them all. */
export type NetworkHash = Buffer & { readonly __networkHash: true }

/** The hash of the network that a client's address is in. */
export const networkHash = (appSecret: string, address: string): NetworkHash =>
  createHmac('sha256', appSecret)
    .update(`tollgate login network\n${networkOf(address)}`)
    .digest() as NetworkHash

/**
 * Whether the user of a lowercased e-mail address has logged in from a network: one query, whether the user exists or
 * not.
 */
export async function isLoginNetwork(db: Db, email: string, network: NetworkHash): Promise<boolean> {
  const { rows } = await db.raw<{ rows: unknown[] }>(
    `SELECT 1 FROM users u JOIN login_networks n ON n.user_id = u.id WHERE u.email = ? AND n.network_hash = ?`,
    [email, network],
  )
  return rows.length > 0
}

/** Remembers that a user has logged in from a network; beyond the most, that of the oldest login is forgotten. */
export async function rememberNetwork(db: Db | Trx, userId: UserId, network: NetworkHash): Promise<void> {
  await db.raw(
    `
    WITH remembered AS (
      INSERT INTO login_networks (user_id, network_hash) VALUES (:userId, :network)
      ON CONFLICT (user_id, network_hash) DO UPDATE SET last_login_at = now()
    )
    DELETE FROM login_networks
    WHERE user_id = :userId AND network_hash IN (
      SELECT network_hash FROM login_networks WHERE user_id = :userId AND network_hash <> :network
      ORDER BY last_login_at DESC OFFSET :others
    )`,
    { userId, network, others: MOST - 1 },
  )
}

/** Forgets all networks of a user. */
export const forgetNetworks = async (trx: Trx, userId: UserId): Promise<void> => {
  await trx('login_networks').where({ user_id: userId }).delete()
}

/** Forgets networks that nobody has logged in from for long. */
export const deleteOldNetworks = async (db: Db): Promise<number> =>
  db('login_networks')
    .where('last_login_at', '<', db.raw('now() - make_interval(days => ?)', [LIFE_DAYS]))
    .delete()
