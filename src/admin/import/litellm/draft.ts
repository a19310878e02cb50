/** The stored models of litellm as a draft of a catalogue. */
import type { z } from 'zod'
import { isOwnVariable } from '../../../shared/platform/config/config.ts'
import { QUEUES } from '../../../shared/terms/kinds.ts'
import type { Draft, DraftKey, DraftModality, DraftModel, DraftPrice, DraftRoute } from '../draft/draft.ts'
import { addressOf, isDraftModality, slugOf } from '../draft/draft.ts'
import type { Exact } from '../exact.ts'
import { exactOf, larger, times, wholeNumber } from '../exact.ts'
import type { ImportRules } from '../rules.ts'
import type { Reading } from '../tables.ts'
import { rowsIfAny } from '../tables.ts'
import type { Provider } from './providers.ts'
import { PROVIDERS } from './providers.ts'
import { MODELS } from './tables.ts'

type Row = z.output<typeof MODELS.schema>
type Fields = Record<string, unknown>

/** Its `mode` of a model, as a modality. */
const MODES: Record<string, string> = {
  chat: 'chat',
  completion: 'chat',
  responses: 'chat',
  embedding: 'embedding',
  image_generation: 'image',
}

const MICRO = wholeNumber(1_000_000n)

/** A value that litellm has encrypted, which only its own key opens. */
const ENCRYPTED = /^[A-Za-z0-9_+/-]{54,}={0,2}$/

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** A rate in dollars that a model states of its own, or else of its kind. */
function rateOf(name: string, ...places: (Fields | null)[]): Exact | null {
  const value = places.map((place) => place?.[name]).find((one) => typeof one === 'number' || typeof one === 'string')
  const rate = value === undefined ? null : exactOf(String(value))
  return rate && rate.above >= 0n ? rate : null
}

/** What a call costs, in dollars; null if no cost is stored. */
function dollarsOf(modality: DraftModality, { litellm_params: params, model_info: info }: Row): DraftPrice | null {
  const rate = (name: string) => rateOf(name, params, info)
  const picture = rate('output_cost_per_image') ?? rate('input_cost_per_image')
  if (modality === 'image') return picture && { for: 'call', amount: picture }
  const input = rate('input_cost_per_token')
  return (
    input && {
      for: 'token',
      input,
      output: rate('output_cost_per_token'),
      cachedInput: rate('cache_read_input_token_cost'),
      cacheWrite: rate('cache_creation_input_token_cost'),
    }
  )
}

/** A price in another unit. */
function priceIn(price: DraftPrice, each: Exact): DraftPrice {
  const of = (rate: Exact | null): Exact | null => rate && times(rate, each)
  if (price.for === 'call') return { for: 'call', amount: times(price.amount, each) }
  const { input, output, cachedInput, cacheWrite } = price
  return {
    for: 'token',
    input: times(input, each),
    output: of(output),
    cachedInput: of(cachedInput),
    cacheWrite: of(cacheWrite),
  }
}

/** A price that is below neither of two: a rate that one of them does not state is that of its input. */
function highest(one: DraftPrice, other: DraftPrice): DraftPrice {
  if (one.for === 'call' || other.for === 'call') {
    return one.for === 'call' && other.for === 'call' ? { for: 'call', amount: larger(one.amount, other.amount) } : one
  }
  const of = (name: 'cachedInput' | 'cacheWrite'): Exact | null =>
    one[name] || other[name] ? larger(one[name] ?? one.input, other[name] ?? other.input) : null
  return {
    for: 'token',
    input: larger(one.input, other.input),
    output: one.output && other.output && larger(one.output, other.output),
    cachedInput: of('cachedInput'),
    cacheWrite: of('cacheWrite'),
  }
}

/** Where a model is asked, and its name there. `needsKey`: it is no server of their own. */
type Place = { protocol: Provider['protocol']; baseUrl: string; model: string; needsKey: boolean }

/** Where a model is asked; a phrase if there is no way here. */
function placeOf({ litellm_params: params }: Row): Place | string {
  const written = textOf(params?.model)
  if (written === '') return 'it states no model'
  if (ENCRYPTED.test(written)) return 'its parameters are encrypted: see docs/migrating.md#litellm-models'
  const slash = written.indexOf('/')
  const prefix = slash === -1 ? '' : written.slice(0, slash)
  const name = textOf(params?.custom_llm_provider) || prefix || 'openai'
  const provider = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined
  if (!provider) return `the provider ${name.slice(0, 50)} has no protocol here`
  const address = textOf(params?.api_base)
  const baseUrl = address === '' ? provider.baseUrl : addressOf(address)
  if (baseUrl === null) return 'it states no address of http:// or https:// without a password'
  const model = prefix === name ? written.slice(slash + 1) : written
  return { protocol: provider.protocol, baseUrl, model, needsKey: provider.baseUrl !== null }
}

/** The pools that grow while models are read: an upstream for each address, a key for each secret. */
class Pools {
  readonly upstreams = new Map<
    string,
    { protocol: Provider['protocol']; baseUrl: string; keys: Map<string, DraftKey> }
  >()

  /** The name of the upstream at an address. */
  at(protocol: Provider['protocol'], baseUrl: string): string {
    for (const [name, one] of this.upstreams) if (one.protocol === protocol && one.baseUrl === baseUrl) return name
    const host = slugOf(new URL(baseUrl).hostname.replace(/^api\./, '')) || protocol
    const taken = (name: string): boolean => this.upstreams.has(name)
    let name = host
    for (let number = 2; taken(name); number++) name = `${host}-${number}`
    this.upstreams.set(name, { protocol, baseUrl, keys: new Map() })
    return name
  }

  /** Adds a model to the key that it is asked with: a variable of theirs, a secret, or one that is not stored. */
  addKey(name: string, apiKey: string, model: string): void {
    const { keys } = this.upstreams.get(name)!
    const theirs = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/.exec(apiKey)?.[1]
    const known = keys.get(apiKey)
    const isTheirs = theirs !== undefined && !isOwnVariable(theirs, QUEUES)
    const ours = `UPSTREAM_${name.toUpperCase().replaceAll('-', '_')}_KEY_${keys.size + 1}`
    const secret = theirs !== undefined || apiKey === '' ? null : apiKey
    const models = [...new Set([...(known?.models ?? []), model])]
    keys.set(apiKey, { variable: known?.variable ?? (isTheirs ? theirs : ours), secret, models })
  }

  /** The upstreams as they are at the end: a single key serves all models. */
  drafted(): Draft['upstreams'] {
    return new Map(
      [...this.upstreams].map(([name, { protocol, baseUrl, keys }]) => {
        const all = [...keys.values()]
        return [
          name,
          { protocol, baseUrl, keys: all.length === 1 ? all.map((key) => ({ ...key, models: null })) : all },
        ]
      }),
    )
  }
}

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** The draft of a database of litellm, which sells at cost. Only what is stored is in it: not its config.yaml. */
export async function readLitellmDraft(reading: Reading, rules: ImportRules): Promise<Draft> {
  const pools = new Pools()
  const models = new Map<string, Omit<DraftModel, 'routes'> & { routes: DraftRoute[] }>()
  for await (const row of rowsIfAny(reading, MODELS)) {
    const { model_name: id, model_id: theirId, litellm_params: params, model_info: info, blocked } = row
    const list = (reason: string) => reading.listed.push({ what: 'model', theirId: `${id} (${theirId})`, reason })
    const place = placeOf(row)
    const mode = textOf(info?.mode) || 'chat'
    const modality = MODES[mode] ?? mode
    const dollars = isDraftModality(modality) ? dollarsOf(modality, row) : null
    if (blocked) list('it is off there: it is left out')
    else if (typeof place === 'string') list(place)
    else if (!isDraftModality(modality))
      list(`models of the kind ${modality} have prices of another form: write it by hand`)
    else if (!dollars) list('its costs are not stored: write its price by hand')
    if (blocked || typeof place === 'string' || !isDraftModality(modality) || !dollars) continue
    const upstream = pools.at(place.protocol, place.baseUrl)
    if (textOf(params?.litellm_credential_name)) list('its key is a stored credential: set the variable by hand')
    const apiKey = textOf(params?.api_key)
    if (apiKey !== '' || place.needsKey) pools.addKey(upstream, apiKey, place.model)
    const route = {
      upstream,
      model: place.model,
      priority: -numberOf(params?.order),
      weight: numberOf(params?.weight),
      cost: priceIn(dollars, MICRO),
    }
    const price = priceIn(dollars, rules.creditsPerDollar)
    const known = models.get(id)
    const routes = known?.routes ?? []
    const model = {
      id,
      modality: known?.modality ?? modality,
      price: known ? highest(known.price, price) : price,
      routes,
    }
    if (!routes.some((one) => one.upstream === upstream && one.model === place.model)) routes.push(route)
    models.set(id, model)
  }
  return { upstreams: pools.drafted(), models: [...models.values()], groups: new Map() }
}
