/**
 * Imports a plan: one transaction for each account, under the lock of its source. What was imported is noted in the
 * same transaction, so that an import which was interrupted continues where it ended, and a repeated one imports the
 * difference.
 */
import { recordAction } from '../../action-log/actions.ts'
import { holdNewest, newestGroups } from '../../catalogue/versions.ts'
import { setGroup, setLimitsOf } from '../../identity/account-limits.ts'
import { openAccount, setStatus } from '../../identity/accounts.ts'
import { revokeKey } from '../../identity/api-keys.ts'
import { countSpent } from '../../identity/budgets.ts'
import type { ImportSource } from '../../identity/import-origins.ts'
import { holdSource, nameOf, noteGranted, noteOff, noteOrigin, originsOf } from '../../identity/import-origins.ts'
import { addImportedKey, takenHashes } from '../../identity/imported-keys.ts'
import { setMemberBudget } from '../../identity/member-changes.ts'
import { addMember, allOf, lockForMembers, membershipsOf } from '../../identity/members.ts'
import { NO_PASSWORD } from '../../identity/passwords.ts'
import { createUser, takenEmails } from '../../identity/users.ts'
import { grant } from '../../ledger/ledger.ts'
import type { AccountId, UserId } from '../../platform/ids.ts'
import { newId } from '../../platform/ids.ts'
import type { Db, Trx } from '../../platform/postgres/db.ts'
import type { Change, Decision, State } from './decide.ts'
import { decide, memberId, memberName } from './decide.ts'
import type { ImportPlan, Listed } from './plan.ts'
import type { PreparedAccount, PreparedBudget } from './prepare.ts'
import { preparePlan } from './prepare.ts'

/** How many accounts are read at once where nothing is written. */
const READ_TOGETHER = 500

/**
 * Imports a plan, or only decides what an import would do.
 * @param done is called with the decision about each account, after its transaction.
 * @returns what is listed of the plan itself.
 */
export async function importPlan(
  db: Db,
  source: ImportSource,
  plan: ImportPlan,
  { apply, done }: { apply: boolean; done: (decision: Decision) => void },
): Promise<Listed[]> {
  const [accounts, listed] = preparePlan(plan, new Set(Object.keys(await newestGroups(db))))
  if (apply) for (const account of accounts) done(await importAccount(db, source, account))
  else {
    for (let from = 0; from < accounts.length; from += READ_TOGETHER) {
      const some = accounts.slice(from, from + READ_TOGETHER)
      const state = await readState(db, source.name, some)
      for (const account of some) done(decide(account, state))
    }
  }
  return listed
}

const importAccount = (db: Db, source: ImportSource, account: PreparedAccount): Promise<Decision> =>
  db.transaction(async (trx) => {
    await holdSource(trx, source)
    let state = await readState(trx, source.name, [account])
    const existing = state.origins.get(nameOf(account.kind, account.theirId))
    if (existing) {
      await lockForMembers(trx, existing.accountId)
      state = await readState(trx, source.name, [account])
    }
    const decision = decide(account, state)
    if (decision.change) await carryOut(trx, source.name, decision.change, state)
    return decision
  })

/** What is here of some accounts. */
async function readState(db: Db | Trx, source: string, accounts: readonly PreparedAccount[]): Promise<State> {
  const theirIds = accounts.flatMap((account) => [
    account.theirId,
    ...(account.kind === 'organisation' ? [account.ownerId] : []),
    ...account.members.flatMap(({ userId }) => [userId, memberId(account.theirId, userId)]),
    ...account.keys.flatMap((key) => [key.theirId, key.memberId]),
  ])
  const origins = await originsOf(db, source, theirIds)
  const organisations = accounts.flatMap(({ kind, theirId }) => {
    const origin = kind === 'organisation' ? origins.get(nameOf(kind, theirId)) : undefined
    return origin ? [origin.accountId] : []
  })
  const memberships = await membershipsOf(db, organisations)
  return {
    origins,
    emails: await takenEmails(
      db,
      accounts.flatMap((one) => (one.kind === 'user' && one.email ? [one.email] : [])),
    ),
    hashes: await takenHashes(
      db,
      accounts.flatMap(({ keys }) => keys.map(({ hash }) => hash)),
    ),
    members: new Set(memberships.map(({ accountId, userId }) => memberName(accountId, userId))),
  }
}

async function carryOut(trx: Trx, source: string, change: Change, state: State): Promise<void> {
  const { account, existing } = change
  const accountId = existing?.accountId ?? (await makeAccount(trx, source, change, state))
  const userOf = async (theirId: string): Promise<UserId> =>
    (state.origins.get(nameOf('user', theirId)) ??
      (await originsOf(trx, source, [theirId])).get(nameOf('user', theirId)))!.userId!
  for (const { userId: theirId, role, budget } of change.members) {
    const member = { userId: await userOf(theirId), accountId }
    await addMember(trx, member, role)
    if (budget) await setMemberBudget(trx, member, budgetOf(budget))
    if (budget) await countSpent(trx, { scope: 'member', userId: member.userId }, accountId, budget.spent)
    await noteOrigin(trx, source, {
      kind: 'member',
      theirId: memberId(account.theirId, theirId),
      ...member,
      off: false,
    })
  }
  for (const { theirId, memberId: whose, limits, budget, isOff, ...key } of change.keys) {
    const id = newId('key')
    const all = { ...limits, budget: budget && budgetOf(budget) }
    await addImportedKey(trx, { id, accountId, userId: await userOf(whose), ...key, isRevoked: isOff, limits: all })
    if (budget) await countSpent(trx, { scope: 'key', keyId: id }, accountId, budget.spent)
    await noteOrigin(trx, source, { kind: 'key', theirId, accountId, keyId: id, off: isOff })
  }
  for (const keyId of change.revoked) await revokeKey(trx, allOf(accountId), keyId)
  for (const keyId of change.revoked) await noteOff(trx, { account_id: accountId, key_id: keyId }, true)
  for (const keyId of change.turnedOn) await noteOff(trx, { account_id: accountId, key_id: keyId }, false)
  if (change.suspends) await setStatus(trx, accountId, 'suspended')
  if (existing && existing.off !== account.isOff) {
    await noteOff(trx, { account_id: accountId, key_id: null }, account.isOff)
  }
  if (change.grant > 0) {
    await grant(trx, { id: newId('grant'), accountId, origin: 'import', amount: change.grant })
    await noteGranted(trx, accountId, change.grant)
  }
  await record(trx, source, accountId, change)
}

const budgetOf = ({ credits, period }: PreparedBudget) => ({ credits, period })

async function makeAccount(trx: Trx, source: string, { account, email }: Change, state: State): Promise<AccountId> {
  const accountId = newId('account')
  const { kind, theirId, name, group, rateLimit, tokensPerMinute, isOff: off } = account
  if (kind === 'user') {
    const user = { id: newId('user'), accountId, displayName: name }
    const withLogin = email !== null && (await createUser(trx, { ...user, email, passwordHash: account.passwordHash }))
    // Somebody has registered with the address since it was looked up.
    if (!withLogin) await createUser(trx, { ...user, email: null, passwordHash: NO_PASSWORD })
    await noteOrigin(trx, source, { kind, theirId, accountId, userId: user.id, off })
  } else {
    const { userId } = state.origins.get(nameOf('user', account.ownerId))!
    await openAccount(trx, accountId, { kind, name })
    await addMember(trx, { userId: userId!, accountId }, 'owner')
    await noteOrigin(trx, source, { kind, theirId, accountId, off })
  }
  if (rateLimit !== null || tokensPerMinute !== null) await setLimitsOf(trx, accountId, { rateLimit, tokensPerMinute })
  if (group !== null) {
    // A catalogue that was applied since may not have it any more.
    await holdNewest(trx)
    if (Object.hasOwn(await newestGroups(trx), group)) await setGroup(trx, accountId, group)
  }
  return accountId
}

/** Records what was done with an account, if anything was. Its id there may name a person: it is not recorded. */
async function record(trx: Trx, source: string, accountId: AccountId, change: Change): Promise<void> {
  const { existing, suspends, grant: credits, members, keys, revoked } = change
  if (existing && !suspends && credits + members.length + keys.length + revoked.length === 0) return
  await recordAction(trx, null, 'account_imported', accountId, {
    source,
    credits,
    keys: keys.length,
    members: members.length,
    revoked: revoked.length,
    ...(suspends && { status: 'suspended' }),
  })
}
