/** The tables of one-api, and of new-api, which has more columns. */
import { z } from 'zod'
import { decimal, flag, json, moment, optional, text, whole } from '../columns.ts'
import type { Table } from '../tables.ts'

/** People, each with a balance in quota. */
export const USERS = {
  name: 'users',
  what: 'user',
  schema: z.object({
    id: text,
    username: text,
    password: optional(text),
    display_name: optional(text),
    role: whole,
    status: whole,
    email: optional(text),
    quota: whole,
    group: optional(text),
    aff_quota: optional(whole),
    deleted_at: optional(moment),
  }),
} satisfies Table<z.ZodRawShape>

/** Keys, in plain text and without `sk-`. */
export const TOKENS = {
  name: 'tokens',
  what: 'key',
  schema: z.object({
    id: text,
    user_id: text,
    key: text,
    status: whole,
    name: optional(text),
    expired_time: whole,
    remain_quota: whole,
    unlimited_quota: optional(flag),
    models: optional(text),
    subnet: optional(text),
    model_limits_enabled: optional(flag),
    model_limits: optional(text),
    allow_ips: optional(text),
    group: optional(text),
    deleted_at: optional(moment),
  }),
} satisfies Table<z.ZodRawShape>

/** Settings, each a text. */
export const OPTIONS = {
  name: 'options',
  what: 'option',
  schema: z.object({ key: text, value: text.nullable() }),
} satisfies Table<z.ZodRawShape>

/** Which keys of a channel are on, by their place. */
const channelInfo = z
  .looseObject({ multi_key_status_list: z.record(z.string(), z.number()).nullish() })
  .nullable()
  .catch(null)

/** Upstreams with their keys and models. */
export const CHANNELS = {
  name: 'channels',
  what: 'channel',
  schema: z.object({
    id: text,
    type: whole,
    key: text,
    status: whole,
    name: optional(text),
    weight: optional(decimal),
    base_url: optional(text),
    models: text,
    group: optional(text),
    model_mapping: optional(text),
    priority: optional(decimal),
    channel_info: json.pipe(channelInfo),
    param_override: optional(text),
    header_override: optional(text),
  }),
} satisfies Table<z.ZodRawShape>
