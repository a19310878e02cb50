/** A database of litellm as a plan. */
import type { ImportPlan, PlannedKey } from '../../../shared/operators/import/plan.ts'
import { decimalText } from '../exact.ts'
import type { ImportRules } from '../rules.ts'
import type { LeftOut, Reading } from '../tables.ts'
import { listLeftOut, rowsIfAny, rowsOf } from '../tables.ts'
import { readBudgets } from './budgets.ts'
import type { KeyContext } from './keys.ts'
import { plannedKey } from './keys.ts'
import { readOrganisations, readTeams } from './organisations.ts'
import { DELETED_TOKENS, MODELS, TOKENS, keyHash } from './tables.ts'
import { readUsers } from './users.ts'

const LEFT_OUT: readonly LeftOut[] = [
  {
    table: 'LiteLLM_EndUserTable',
    what: 'end users',
    reason: 'end users have no counterpart: they have neither keys nor accounts',
  },
  { table: 'LiteLLM_TagTable', what: 'tags', reason: 'tags and their budgets have no counterpart' },
  {
    table: 'LiteLLM_DeprecatedVerificationToken',
    what: 'replaced keys',
    reason: 'keys that were replaced and still work for a while are not imported',
  },
  { table: 'LiteLLM_MCPServerTable', what: 'tools', reason: 'servers of tools have no counterpart' },
  {
    table: 'LiteLLM_SpendLogs',
    what: 'calls',
    reason: 'records of calls are not imported: they have other units',
  },
]

/** The models of each access group, as the stored models name them. */
async function readModelGroups(reading: Reading): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>()
  for await (const { model_name: name, model_info: info } of rowsIfAny({ ...reading, listed: [] }, MODELS)) {
    const named: unknown = info?.access_groups
    for (const group of Array.isArray(named) ? named.map(String) : []) {
      groups.set(group, [...(groups.get(group) ?? []), name])
    }
  }
  return groups
}

/** The keys: those that were deleted, too, so that they are off here if an earlier run imported them. */
async function readKeys(reading: Reading, context: KeyContext): Promise<PlannedKey[]> {
  const keys = new Map<string, PlannedKey>()
  for await (const token of rowsIfAny(reading, DELETED_TOKENS)) {
    const key = plannedKey(token, context, () => {})
    const account = key?.account
    const isKnown =
      account &&
      ('userId' in account ? context.users.has(account.userId) : context.organisations.has(account.organisationId))
    if (key && isKnown) keys.set(key.theirId, { ...key, isDisabled: true })
  }
  for await (const token of rowsOf(reading, TOKENS)) {
    const theirId = keyHash(token.token)
    const key = plannedKey(token, context, (reason) => reading.listed.push({ what: 'key', theirId, reason }))
    if (key) keys.set(theirId, key)
  }
  return [...keys.values()]
}

/** The plan of a database of litellm. @throws CommandError if it is another one's */
export async function readLitellmPlan(reading: Reading, rules: ImportRules): Promise<ImportPlan> {
  const { listed } = reading
  const budgets = await readBudgets(reading)
  const { rows, users, sum } = await readUsers(reading, rules)
  const addresses = new Map([...rows.values()].map((user) => [user.user_email, user.user_id]))
  const context = { rules, now: new Date(), users: rows, addresses, budgets }
  const read = [...(await readTeams(reading, context)), ...(await readOrganisations(reading, context))]
  const organisations = new Map(read.map((one) => [one.organisation.theirId, one]))
  const modelGroups = await readModelGroups(reading)
  const keys = await readKeys(reading, { ...context, organisations, modelGroups })
  if (rules.grant === null)
    listed.push({
      what: 'balances',
      theirId: 'all users',
      reason: 'litellm has no wallet, and the rules state no "grant": nobody is granted anything',
    })
  await listLeftOut(reading, LEFT_OUT)
  return {
    users,
    organisations: read.map(({ organisation }) => organisation),
    keys,
    listed,
    theirSum: { amount: decimalText(sum), unit: 'USD' },
  }
}
