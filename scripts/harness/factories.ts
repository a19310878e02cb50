import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import type { AccountId, GrantId, KeyId, UserId } from '../../src/shared/platform/ids.ts'
import { createMailboxes } from '../../src/shared/users/mailboxes.ts'
import { createUser } from '../../src/shared/users/users.ts'
import { createKey } from '../../src/shared/accounts/api-keys.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import type { Origin } from '../../src/shared/ledger/ledger.ts'

/** A grant; `days` until it expires, negative for one that has expired. */
export type TestGrant = { amount: number; days?: number; origin?: Origin }

/** An account and its owner. */
export type TestAccount = { id: AccountId; userId: UserId; email: string; key: string; keyId: KeyId; grants: GrantId[] }

/** The hashes of mailboxes under some secret. */
export const mailboxes = createMailboxes({ APP_SECRET: 'a secret of the tests, long enough for it' })

let accounts = 0

/** An active account with one API key and these grants. Nobody can log in to it: it has no password. */
export async function anAccount(db: Db, wanted: TestGrant[] | number = []): Promise<TestAccount> {
  const id = newId('account')
  const email = `account-${process.pid}-${++accounts}@example.com`
  const userId = newId('user')
  await db.transaction((trx) => createUser(trx, { id: userId, accountId: id, email, passwordHash: 'none' }))
  const { id: keyId, secret } = await createKey(db, id, 'test')
  const grants: GrantId[] = []
  for (const one of typeof wanted === 'number' ? [{ amount: wanted }] : wanted) grants.push(await aGrant(db, id, one))
  return { id, userId, email, key: secret, keyId, grants }
}

/** Makes a grant. An expired one is granted first and then moved into the past, since it cannot be granted. */
export async function aGrant(
  db: Db,
  accountId: AccountId,
  { amount, days, origin = 'purchase' }: TestGrant,
): Promise<GrantId> {
  const id = newId('grant')
  const expiresAt = days === undefined ? null : new Date(Date.now() + days * 86_400_000)
  await db.transaction((trx) => grant(trx, { id, accountId, origin, amount, expiresAt }))
  return id
}

/** Says that an address was proved: mails about money go to no other. */
export async function proveAddress(db: Db, { email }: { email: string }): Promise<void> {
  await db('users').where({ email }).update({ email_verified_at: db.fn.now() })
}

/** What an account owes, by its row. */
export async function debtOf(db: Db, accountId: AccountId): Promise<number> {
  const row = await db('accounts').where({ id: accountId }).first<{ debt: number }>('debt')
  return row.debt
}

/** The balance of an account in its row. */
export async function balanceOf(db: Db, accountId: AccountId): Promise<number> {
  const row = await db('accounts').where({ id: accountId }).first<{ credits: number }>('credits')
  return row.credits
}
