/** The channels of one-api and new-api as upstreams, with their pools of keys. */
import type { z } from 'zod'
import type { Protocol } from '../../../shared/catalogue/catalogue.ts'
import { elementsOf } from '../columns.ts'
import type { DraftKey, DraftUpstream } from '../draft/draft.ts'
import { addressOf, slugOf } from '../draft/draft.ts'
import type { Exact } from '../exact.ts'
import type { LeftOut } from '../tables.ts'
import type { CHANNELS } from './tables.ts'

/** What channels of a type speak: `suffix` is what their program appends to an address. */
type ChannelType = { protocol: Protocol; baseUrl: string | null; suffix: string }

/** A gateway of this family. `versions`: in words; `channels`: the types that have a protocol here, by their number. */
export type QuotaGateway = {
  versions: string
  leftOut: readonly LeftOut[]
  channels: Readonly<Record<number, ChannelType>>
}

/** A channel that speaks OpenAI's protocol. @param baseUrl null: each states its own */
export const openai = (baseUrl: string | null, suffix = '/v1'): ChannelType => ({ protocol: 'openai', baseUrl, suffix })

/** A channel that speaks Anthropic's protocol. */
export const anthropic = (baseUrl: string): ChannelType => ({ protocol: 'anthropic', baseUrl, suffix: '' })

/** A channel of OpenRouter. */
export const openrouter = (baseUrl: string): ChannelType => ({ protocol: 'openrouter', baseUrl, suffix: '/v1' })

/** The status of a channel, and of a key in it, that is on. */
const ON = 1n

/** The most keys of an upstream. */
const MAX_KEYS = 50

/** A row of channels. */
export type Channel = z.output<typeof CHANNELS.schema>

/** A channel that can be asked here: its upstream, what it serves, and in which order. */
export type ReadChannel = {
  name: string
  upstream: DraftUpstream
  /** The ids of its models, and what each is called at the upstream. */
  models: ReadonlyMap<string, string>
  groups: readonly string[]
  priority: number
  weight: number
}

/** The address that requests go to; null, and listed, if it cannot be read. */
function baseUrlOf({ base_url: own }: Channel, { baseUrl, suffix }: ChannelType, list: (reason: string) => void) {
  const written = (own ?? '').trim()
  if (written === '' && baseUrl !== null) return baseUrl
  const base = addressOf(written)
  if (base === null) list('its address is not one of http:// or https:// without a password: it is left out')
  return base === null || base.endsWith(suffix) ? base : `${base}${suffix}`
}

/** The keys of a channel, one on each line, without those that are off. */
function keysOf({ id, key, channel_info: info }: Channel, list: (reason: string) => void): DraftKey[] {
  const on = key
    .split('\n')
    .map((one) => one.trim())
    .filter((_one, at) => BigInt(info?.multi_key_status_list?.[at] ?? ON) === ON)
  const secrets = [...new Set(on.filter((one) => one !== ''))]
  if (on.length < key.split('\n').length) list('keys that are off there are left out')
  if (secrets.length > MAX_KEYS) list(`only the first ${MAX_KEYS} of its ${secrets.length} keys are taken over`)
  return secrets.slice(0, MAX_KEYS).map((secret, at) => ({
    variable: secrets.length === 1 ? `CHANNEL_${id}_KEY` : `CHANNEL_${id}_KEY_${at + 1}`,
    secret,
    models: null,
  }))
}

/** What its models are called at the upstream. */
function mappingOf({ model_mapping: mapping }: Channel, list: (reason: string) => void): Map<string, string> {
  if (!mapping?.trim()) return new Map()
  try {
    const names = Object.entries(JSON.parse(mapping) as Record<string, unknown>)
    return new Map(names.filter((name): name is [string, string] => typeof name[1] === 'string'))
  } catch {
    list('its mapping of models is not JSON: its models are asked by their own names')
    return new Map()
  }
}

const numberOf = (exact: Exact | null): number => (exact ? Number(exact.above) / Number(exact.below) : 0)

/** A channel as an upstream; null, and listed, if there is none for it here. */
export function readChannel(
  channel: Channel,
  { channels }: QuotaGateway,
  list: (reason: string) => void,
): ReadChannel | null {
  const { id, type, status, name, priority, weight, param_override: params, header_override: headers } = channel
  if (status !== ON) {
    list('it is off there: it is left out')
    return null
  }
  const kind = channels[Number(type)]
  if (!kind) {
    list(`channels of type ${type} have no protocol here: it is left out`)
    return null
  }
  const baseUrl = baseUrlOf(channel, kind, list)
  if (baseUrl === null) return null
  if (params?.trim() || headers?.trim())
    list('what it overrides in requests is not taken over: write "set" and "headers" by hand')
  const mapping = mappingOf(channel, list)
  const models = [...new Set(elementsOf(channel.models, /,/))].map((one): [string, string] => [
    one,
    mapping.get(one) ?? one,
  ])
  return {
    name: `${slugOf(name ?? '') || 'channel'}-${slugOf(id)}`,
    upstream: { protocol: kind.protocol, baseUrl, keys: keysOf(channel, list) },
    models: new Map(models),
    groups: elementsOf(channel.group, /,/),
    priority: numberOf(priority),
    weight: Math.max(0, numberOf(weight)),
  }
}
