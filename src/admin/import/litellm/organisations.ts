/** Teams and organisations of litellm: both become organisations, owned by their first admin who is a user. */
import type { z } from 'zod'
import type { PlannedMember, PlannedOrganisation } from '../../../shared/operators/import/plan.ts'
import type { Exact } from '../exact.ts'
import type { ImportRules } from '../rules.ts'
import type { Reading } from '../tables.ts'
import { rowsIfAny } from '../tables.ts'
import type { Limits } from './budgets.ts'
import { plannedBudget, plannedLimits } from './budgets.ts'
import { ORGANISATIONS, ORGANISATION_MEMBERS, TEAMS, TEAM_MEMBERS } from './tables.ts'
import type { User } from './users.ts'

type Team = z.output<typeof TEAMS.schema>

/** What the accounts are read with. */
export type Context = {
  rules: ImportRules
  now: Date
  users: ReadonlyMap<string, User>
  /** Ids of users by their e-mail addresses. */
  addresses: ReadonlyMap<string | null, string>
  budgets: ReadonlyMap<string, Limits>
}

/** An organisation, and the models that its keys may call; empty: all. */
export type ReadOrganisation = { organisation: PlannedOrganisation; models: readonly string[] }

/** The team of the sessions of litellm's own pages: its keys are no customers' keys. */
export const OWN_TEAM = 'litellm-dashboard'

/** The id of an organisation in the plan, which has teams, too. */
export const organisationId = (id: string): string => `org:${id}`

/** Somebody in a team or organisation. */
type Person = { userId: string; isAdmin: boolean; budgetId: string | null; spend: Exact | null }

type List = (reason: string) => void

/** The owner and the other members; null, and listed, if no admin of it is a user. */
function membersOf(people: readonly Person[], { users, budgets, ...context }: Context, list: List) {
  const known = [...new Map(people.filter(({ userId }) => users.has(userId)).map((one) => [one.userId, one])).values()]
  const owner = known.find(({ isAdmin }) => isAdmin)
  if (!owner) {
    list('none of its admins is a user: it has nobody to own it, and is not imported')
    return null
  }
  const members = known.flatMap((one): PlannedMember[] => {
    const limits = one.budgetId === null ? undefined : budgets.get(one.budgetId)
    const budget = limits ? plannedBudget(limits, one.spend, { ...context, list }) : null
    if (one === owner && budget) list('its owner has a budget there: owners have none here')
    return one === owner ? [] : [{ userId: one.userId, role: one.isAdmin ? 'admin' : 'member', budget }]
  })
  return { ownerId: owner.userId, members }
}

/** What an organisation has no counterpart for. */
function listLimits({ max_budget: most, max_parallel_requests: parallel }: Limits, list: List): void {
  if (most) list('its budget has no counterpart: what it is granted bounds it')
  if (parallel !== null) list('its limit of parallel requests is not imported: use account set --outstanding')
}

/** The people of a team, with their budgets in it. */
function peopleOf(team: Team, memberships: ReadonlyMap<string, Omit<Person, 'isAdmin'>>, context: Context): Person[] {
  return team.members_with_roles.flatMap(({ user_id: id, user_email: email, role }) => {
    const userId = id ?? context.addresses.get(email ?? '')
    if (userId === undefined) return []
    const { budgetId = null, spend = null } = memberships.get(`${team.team_id}\n${userId}`) ?? {}
    return [{ userId, isAdmin: role === 'admin', budgetId, spend }]
  })
}

/** The teams that have an owner. */
export async function readTeams(reading: Reading, context: Context): Promise<ReadOrganisation[]> {
  const memberships = new Map<string, Omit<Person, 'isAdmin'>>()
  for await (const { user_id: userId, team_id: team, spend, budget_id: budgetId } of rowsIfAny(reading, TEAM_MEMBERS))
    memberships.set(`${team}\n${userId}`, { userId, spend, budgetId })
  const read: ReadOrganisation[] = []
  for await (const team of rowsIfAny(reading, TEAMS)) {
    const { team_id: theirId, team_alias: alias, blocked, models } = team
    if (theirId === OWN_TEAM) continue
    const list: List = (reason) => reading.listed.push({ what: 'team', theirId, reason })
    const members = membersOf(peopleOf(team, memberships, context), context, list)
    if (!members) continue
    listLimits(team, list)
    const { rateLimit, tokensPerMinute, isClosed } = plannedLimits(team)
    const name = alias?.trim() || theirId
    const isSuspended = isClosed || blocked === true
    const account = { theirId, name, group: null, grantCredits: 0n, isSuspended, rateLimit, tokensPerMinute }
    read.push({ organisation: { ...account, ...members }, models })
  }
  return read
}

/** The organisations that have an owner. */
export async function readOrganisations(reading: Reading, context: Context): Promise<ReadOrganisation[]> {
  const people = new Map<string, Person[]>()
  for await (const row of rowsIfAny(reading, ORGANISATION_MEMBERS)) {
    const { organization_id: id, user_id: userId, user_role: role, spend, budget_id: budgetId } = row
    people.set(id, [...(people.get(id) ?? []), { userId, isAdmin: role === 'org_admin', spend, budgetId }])
  }
  const read: ReadOrganisation[] = []
  for await (const row of rowsIfAny(reading, ORGANISATIONS)) {
    const { organization_id: id, organization_alias: alias, budget_id: budgetId, models } = row
    const list: List = (reason) => reading.listed.push({ what: 'organisation', theirId: organisationId(id), reason })
    const members = membersOf(people.get(id) ?? [], context, list)
    if (!members) continue
    const limits = budgetId === null ? undefined : context.budgets.get(budgetId)
    if (limits) listLimits(limits, list)
    const { rateLimit, tokensPerMinute, isClosed } = limits
      ? plannedLimits(limits)
      : { rateLimit: null, tokensPerMinute: null, isClosed: false }
    const account = { theirId: organisationId(id), name: alias?.trim() || id, group: null, grantCredits: 0n }
    read.push({ organisation: { ...account, isSuspended: isClosed, rateLimit, tokensPerMinute, ...members }, models })
  }
  return read
}
