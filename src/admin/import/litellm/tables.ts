/** The tables of litellm (its schema.prisma). Columns that not every version has are optional. */
import { z } from 'zod'
import { hexHashOf } from '../../../shared/identity/api-keys.ts'
import { decimal, flag, json, moment, optional, text, texts, whole } from '../columns.ts'
import type { Table } from '../tables.ts'

/** Which versions are read, in words. */
export const VERSIONS = 'litellm 1.80'

/** Limits and a budget, as many tables have them. Amounts are in dollars. */
const limits = {
  max_budget: optional(decimal),
  budget_duration: optional(text),
  budget_reset_at: optional(moment),
  tpm_limit: optional(whole),
  rpm_limit: optional(whole),
  max_parallel_requests: optional(whole),
}

/** An object in JSON; null for anything else. */
const object = json.transform((value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null,
)

/** Limits that keys, members and organisations share. */
export const BUDGETS = {
  name: 'LiteLLM_BudgetTable',
  what: 'budget',
  schema: z.object({ budget_id: text, ...limits, model_max_budget: object }),
} satisfies Table<z.ZodRawShape>

/** People. */
export const USERS = {
  name: 'LiteLLM_UserTable',
  what: 'user',
  schema: z.object({
    user_id: text,
    user_alias: optional(text),
    user_email: optional(text),
    user_role: optional(text),
    password: optional(text),
    spend: decimal,
    models: texts,
    metadata: object,
    ...limits,
  }),
} satisfies Table<z.ZodRawShape>

const member = z.looseObject({
  role: z.string().nullish(),
  user_id: z.string().nullish(),
  user_email: z.string().nullish(),
})

/** Teams, with their members. */
export const TEAMS = {
  name: 'LiteLLM_TeamTable',
  what: 'team',
  schema: z.object({
    team_id: text,
    team_alias: optional(text),
    organization_id: optional(text),
    members_with_roles: json.transform((value) => z.array(member).catch([]).parse(value)),
    blocked: optional(flag),
    models: texts,
    spend: optional(decimal),
    ...limits,
  }),
} satisfies Table<z.ZodRawShape>

/** What members of teams may spend there, and have spent. */
export const TEAM_MEMBERS = {
  name: 'LiteLLM_TeamMembership',
  what: 'member',
  schema: z.object({ user_id: text, team_id: text, spend: optional(decimal), budget_id: optional(text) }),
} satisfies Table<z.ZodRawShape>

/** Organisations. */
export const ORGANISATIONS = {
  name: 'LiteLLM_OrganizationTable',
  what: 'organisation',
  schema: z.object({
    organization_id: text,
    organization_alias: optional(text),
    budget_id: optional(text),
    models: texts,
  }),
} satisfies Table<z.ZodRawShape>

/** Members of organisations. */
export const ORGANISATION_MEMBERS = {
  name: 'LiteLLM_OrganizationMembership',
  what: 'member',
  schema: z.object({
    user_id: text,
    organization_id: text,
    user_role: optional(text),
    spend: optional(decimal),
    budget_id: optional(text),
  }),
} satisfies Table<z.ZodRawShape>

/** SHA-256 in hexadecimal. */
export const HASH = /^[0-9a-f]{64}$/

/** The hash of a key: old versions also stored keys in plain text. */
export const keyHash = (token: string): string => (HASH.test(token) ? token : hexHashOf(token))

const tokenColumns = {
  token: text,
  key_name: optional(text),
  key_alias: optional(text),
  spend: optional(decimal),
  expires: optional(moment),
  models: texts,
  user_id: optional(text),
  team_id: optional(text),
  organization_id: optional(text),
  project_id: optional(text),
  budget_id: optional(text),
  blocked: optional(flag),
  allowed_routes: texts,
  aliases: object,
  config: object,
  model_max_budget: object,
  budget_limits: json,
  object_permission_id: optional(text),
  metadata: object,
  ...limits,
}

/** Keys, by their hashes. */
export const TOKENS = {
  name: 'LiteLLM_VerificationToken',
  what: 'key',
  schema: z.object(tokenColumns),
  idOf: keyHash,
} satisfies Table<z.ZodRawShape>

/** Keys that were deleted. */
export const DELETED_TOKENS = {
  ...TOKENS,
  name: 'LiteLLM_DeletedVerificationToken',
  schema: z.object(tokenColumns),
} satisfies Table<z.ZodRawShape>

/** Models at upstreams. */
export const MODELS = {
  name: 'LiteLLM_ProxyModelTable',
  what: 'model',
  schema: z.object({
    model_id: text,
    model_name: text,
    litellm_params: object,
    model_info: object,
    blocked: optional(flag),
  }),
} satisfies Table<z.ZodRawShape>
