/** Which data of accounts the operators' endpoints show: each declares it, and the view is recorded with its answer. */
import type { AccountId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import type { ActionDetails } from '../../shared/action-log/actions.ts'
import type { View } from '../../shared/action-log/recorded-views.ts'

/**
 * `accounts`: data of the accounts that its path, its query or its answer names; the view is recorded. `recorded`: it
 * changes something and records that itself. `nobody`: no account's data.
 */
export type Views = 'accounts' | 'recorded' | 'nobody'

/** What was asked, as it is checked, and what is answered. */
type Exchange = { path: string; params: unknown; query: unknown; answer: unknown }

/**
 * What an operator sees in an answer: the one account that it is about, a list of several, by its path and filter, or
 * nothing: null.
 */
export function viewOf({ path, params, query, answer }: Exchange): View | null {
  const accounts = new Set([...accountsOfPath(path, params), ...accountsIn(query), ...accountsIn(answer)])
  const [first] = accounts
  if (first !== undefined && accounts.size === 1) return { accountId: first }
  if (accounts.size === 0 && !hasRows(answer)) return null
  return { accountId: null, list: { list: path, ...filterOf(query) } }
}

const accountsOfPath = (path: string, params: unknown): AccountId[] =>
  path.startsWith('/api/operator/accounts/:id') ? [(params as { id: AccountId }).id] : []

/** Every id of an account in a value, however deep. */
function accountsIn(value: unknown): AccountId[] {
  if (typeof value === 'string') return [parseId('account', value)].filter((id) => id !== null)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(accountsIn) : []
}

const hasRows = (answer: unknown): boolean => {
  const { data } = answer as { data?: unknown }
  return Array.isArray(data) && data.length > 0
}

/** Where a page begins is not part of the filter. */
const PLACES = new Set(['limit', 'cursor'])

/** The filter, for good: of addresses in it only what does not name a person, who may delete their account. */
const filterOf = (query: unknown): ActionDetails =>
  Object.fromEntries(
    Object.entries(query ?? {}).flatMap(([name, value]): [string, string | number][] => {
      if (PLACES.has(name) || value === '') return []
      if (typeof value === 'number') return [[name, value]]
      return typeof value === 'string' ? [[name, value.replaceAll(/[^\s@]+@/g, '…@')]] : []
    }),
  )
