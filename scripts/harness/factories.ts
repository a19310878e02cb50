import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import type { AccountId, GrantId, KeyId, UserId } from '../../src/shared/platform/ids.ts'
import { createMailboxes } from '../../src/shared/mail/mailboxes.ts'
import { openSession } from '../../src/shared/identity/sessions.ts'
import { createUser } from '../../src/shared/identity/users.ts'
import { openAccount } from '../../src/shared/identity/accounts.ts'
import type { Budget } from '../../src/shared/identity/budgets.ts'
import { setMemberBudget } from '../../src/shared/identity/member-changes.ts'
import type { GivenRole } from '../../src/shared/identity/members.ts'
import { addMember } from '../../src/shared/identity/members.ts'
import { createKey } from '../../src/shared/identity/api-keys.ts'
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

/** Somebody who acts for an organisation: a key of it that is theirs, and a session that acts for it. */
export type TestMember = TestAccount & { token: string }

/** An organisation with `credits` credits, with its owner. */
export async function anOrganisation(db: Db, credits = 0): Promise<TestMember> {
  const id = newId('account')
  const owner = await anAccount(db)
  await db.transaction(async (trx) => {
    await openAccount(trx, id, { kind: 'organisation', name: 'Engines' })
    await addMember(trx, { userId: owner.userId, accountId: id }, 'owner')
  })
  const grants = credits > 0 ? [await aGrant(db, id, { amount: credits })] : []
  return { ...owner, ...(await actingFor(db, id, owner.userId)), grants }
}

/** Another member of an organisation. */
export async function aMember(
  db: Db,
  { id }: Pick<TestAccount, 'id'>,
  { role = 'member', budget = null }: { role?: GivenRole; budget?: Budget | null } = {},
): Promise<TestMember> {
  const person = await anAccount(db)
  const member = { userId: person.userId, accountId: id }
  await db.transaction(async (trx) => {
    await addMember(trx, member, role)
    if (budget) await setMemberBudget(trx, member, budget)
  })
  return { ...person, ...(await actingFor(db, id, person.userId)) }
}

async function actingFor(
  db: Db,
  id: AccountId,
  userId: UserId,
): Promise<Pick<TestMember, 'id' | 'key' | 'keyId' | 'token'>> {
  const session = { userId, accountId: id, passwordHash: 'none', userAgent: '', ip: '' }
  const { sessionId, token } = (await openSession(db, session))!
  const made = await createKey(db, id, 'test', {}, { userId, sessionId })
  return { id, key: made.secret, keyId: made.id, token }
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

/** Marks an address as proved: mails about money go to no other. */
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
