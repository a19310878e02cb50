/** Keys of litellm: their hashes are of the same form as ours. */
import type { z } from 'zod'
import type { PlannedKey } from '../../../shared/operators/import/plan.ts'
import { importedLists } from '../key-lists.ts'
import type { Limits } from './budgets.ts'
import { plannedBudget, plannedLimits } from './budgets.ts'
import type { Context, ReadOrganisation } from './organisations.ts'
import { OWN_TEAM, organisationId } from './organisations.ts'
import { keyHash } from './tables.ts'
import type { TOKENS } from './tables.ts'

type Token = z.output<typeof TOKENS.schema>

/** What keys are read with: the organisations by their ids in the plan, and the models of each group of models. */
export type KeyContext = Context & {
  organisations: ReadonlyMap<string, ReadOrganisation>
  modelGroups: ReadonlyMap<string, readonly string[]>
}

type List = (reason: string) => void

/** A key that is shown whole, or whose end shows that it is hardly longer than `sk-`. */
const SHORT = /^sk-(?!\.\.\.).{0,15}$|^sk-\.\.\.sk-/

/** Routes of a key that include calls. */
const CALLS =
  /^(?:llm_api_routes|openai_routes|anthropic_routes|\/(?!key|user|team|organization|model\/|spend|global)|\*)/

const isFilled = (value: unknown): boolean =>
  value !== null && value !== undefined && Object.keys(value as object).length > 0

/** What of a key has no counterpart: whether it has it, and why it is listed. */
const LEFT_OUT: readonly [has: (key: Token) => boolean, reason: string][] = [
  [({ aliases }) => isFilled(aliases), 'its aliases of models are not imported'],
  [({ config }) => isFilled(config), 'its configuration is not imported'],
  [({ model_max_budget: budgets }) => isFilled(budgets), 'budgets of single models have no counterpart'],
  [({ budget_limits: budgets }) => isFilled(budgets), 'its further budgets are not imported: a key has one'],
  [({ project_id: project }) => project !== null, 'its project has no counterpart'],
  [({ object_permission_id: id }) => id !== null, 'its permissions for tools and stores have no counterpart'],
  [({ allowed_routes: routes }) => routes.some((one) => one.startsWith('/')), 'its list of routes has no counterpart'],
  [({ metadata }) => isFilled(metadata?.['guardrails']), 'its guardrails are not imported'],
  [({ metadata }) => isFilled(metadata?.['model_rpm_limit']), 'limits of single models have no counterpart'],
  [({ metadata }) => isFilled(metadata?.['model_tpm_limit']), 'limits of single models have no counterpart'],
]

/** The models that a list names, its groups of models replaced by theirs; null: all. */
function modelsIn(names: readonly string[], { modelGroups }: KeyContext, list: List): readonly string[] | null {
  if (names.length === 0 || names.some((name) => ['all-proxy-models', 'all-team-models', '*'].includes(name)))
    return null
  return names.flatMap((name) => {
    if (name.includes('*')) list(`its models "${name}" are left out: here each model is named`)
    return name.includes('*') || name === 'no-default-models' ? [] : (modelGroups.get(name) ?? [name])
  })
}

/** What each of the lists allows; null if none of them limits anything. */
const inAll = (lists: readonly (readonly string[] | null)[]): readonly string[] | null =>
  lists.reduce((all, one) => (all && one ? all.filter((id) => one.includes(id)) : (all ?? one)), null)

/** Whose account pays for a key; null, and listed, for one that belongs to nobody. */
function accountOf(token: Token, { organisations }: KeyContext, list: List): PlannedKey['account'] | null {
  const { team_id: team, organization_id: organisation, user_id: userId } = token
  if (team !== null) return { organisationId: team }
  if (organisation !== null && (organisations.has(organisationId(organisation)) || userId === null))
    return { organisationId: organisationId(organisation) }
  if (userId === null) list('it belongs to no user and to no team: it is not imported')
  return userId === null ? null : { userId }
}

/** Who holds a key of an organisation: its user, if they are in it, else its owner. */
function holderOf({ user_id: userId }: Token, its: ReadOrganisation | undefined, list: List): string | null {
  if (userId === null || !its) return userId
  const { ownerId, members } = its.organisation
  if (userId === ownerId || members.some((one) => one.userId === userId)) return userId
  list('its user is no member of its team: the owner holds it')
  return null
}

/** Its own limits, and where it has none, those of the budget that it names. */
function limitsOf(token: Token, { budgets }: Context): Limits {
  const shared = token.budget_id === null ? undefined : budgets.get(token.budget_id)
  const own = token.max_budget ? token : (shared ?? token)
  return {
    max_budget: own.max_budget,
    budget_duration: own.budget_duration,
    budget_reset_at: own.budget_reset_at,
    rpm_limit: token.rpm_limit ?? shared?.rpm_limit ?? null,
    tpm_limit: token.tpm_limit ?? shared?.tpm_limit ?? null,
    max_parallel_requests: token.max_parallel_requests ?? shared?.max_parallel_requests ?? null,
  }
}

/** A key as planned; null for one of litellm's own pages, and for one that is listed as not imported. */
export function plannedKey(token: Token, context: KeyContext, list: List): PlannedKey | null {
  const { token: stored, key_name: shown, key_alias: alias, team_id: team, blocked, allowed_routes: routes } = token
  if (team === OWN_TEAM) return null
  if (SHORT.test(shown ?? '')) {
    list('behind "sk-" it has fewer than 16 characters: it cannot be recognised')
    return null
  }
  const account = accountOf(token, context, list)
  if (!account) return null
  const its = 'organisationId' in account ? context.organisations.get(account.organisationId) : undefined
  const ofAccount = its ? its.models : (context.users.get(token.user_id ?? '')?.models ?? [])
  const models = inAll([token.models, ofAccount].map((names) => modelsIn(names, context, list)))
  const lists = importedLists({ models, networks: null }, list)
  const limits = limitsOf(token, context)
  const { isClosed, ...rates } = plannedLimits(limits)
  const isForCalls = routes.length === 0 || routes.some((route) => CALLS.test(route))
  for (const [has, reason] of LEFT_OUT) if (has(token)) list(reason)
  if (!isForCalls) list('its routes include no calls: it is imported turned off')
  const hash = keyHash(stored)
  return {
    theirId: hash,
    account,
    memberId: holderOf(token, its, list),
    name: alias?.trim() || `key ${(shown ?? hash).slice(-4)}`,
    hash,
    hint: shown?.slice(-4) ?? '',
    expiresAt: token.expires,
    models: lists.models,
    networks: null,
    ...rates,
    budget: plannedBudget(limits, token.spend, { ...context, list }),
    isDisabled: lists.isClosed || isClosed || !isForCalls || blocked === true,
  }
}
