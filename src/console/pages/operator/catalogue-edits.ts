/**
 * What the forms of upstreams and models write into a catalogue. All else in it stays; the server checks the result.
 */
import { t } from '../../language/language.ts'
import type { Modality } from '../../../shared/terms/kinds.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { asFields, asList } from '../../../shared/platform/fields.ts'

const words = t.catalogue

/** The place of a value in the catalogue: `['models', 0, 'pricing', 'input']`. */
export type Path = readonly (string | number)[]

/** A copy with another value at one place; undefined removes it. */
export function withValue(value: unknown, [step, ...rest]: Path, to: unknown): unknown {
  if (step === undefined) return to
  if (Array.isArray(value)) {
    return value.map((one: unknown, index) => (index === step ? withValue(one, rest, to) : one))
  }
  const fields = asFields(value)
  return { ...fields, [step]: withValue(fields[step], rest, to) }
}

/** The fields of a form, by their names. */
export type Texts = Record<string, string>

/** A text, without it where it is empty. */
const stated = (text = ''): string | undefined => (text.trim() === '' ? undefined : text.trim())

/** A number; what was typed instead is left to the server, which names it. */
const numeric = (text = ''): unknown =>
  stated(text) === undefined ? undefined : Number.isNaN(Number(text)) ? text : Number(text)

/** The lines of a text that are not empty. */
const linesOf = (text = ''): string[] => text.split('\n').flatMap((line) => stated(line) ?? [])

/** The keys of a pool, one a line: `name VARIABLE weight`, the weight only where it is not 1. */
export const keyLines = (keys: unknown): string =>
  asList(keys)
    .map((key) => {
      const { name, apiKeyEnv, weight = 1 } = asFields(key)
      return [name, apiKeyEnv, ...(weight === 1 ? [] : [weight])].join(' ')
    })
    .join('\n')

/** The keys that lines name; what else a key of that name has stays. */
const keysOf = (text: string | undefined, before: unknown): Fields[] =>
  linesOf(text).map((line) => {
    const [name, apiKeyEnv, weight] = line.split(/\s+/)
    const was = asList(before)
      .map(asFields)
      .find((key) => key.name === name)
    return { ...was, name, apiKeyEnv, weight: numeric(weight) }
  })

/** Headers, one a line: `Name: value`. */
export const headerLines = (headers: unknown): string =>
  Object.entries(asFields(headers))
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n')

const headersOf = (text: string | undefined): Fields | undefined => {
  const pairs = linesOf(text).map((line) =>
    /^([^:]*):?(.*)$/
      .exec(line)!
      .slice(1)
      .map((part) => part.trim()),
  )
  return pairs.length === 0 ? undefined : (Object.fromEntries(pairs) as Fields)
}

/** Writes an upstream. `was`: its name so far; null: it is new. What the form does not have stays. */
export function withUpstream(catalogue: unknown, was: string | null, texts: Texts): unknown {
  const { name = '', protocol, baseUrl, apiKeyEnv, concurrency } = texts
  const place = was ?? name.trim()
  const before = asFields(asFields(asFields(catalogue).upstreams)[place])
  const keys = keysOf(texts.keys, before.keys)
  const written = {
    ...before,
    protocol,
    baseUrl: stated(baseUrl),
    apiKeyEnv: stated(apiKeyEnv),
    keys: keys.length === 0 ? undefined : keys,
    headers: headersOf(texts.headers),
    concurrency: numeric(concurrency),
  }
  return withValue(catalogue, ['upstreams', place], written)
}

/** What a price is stated for: its field in the form and its words there. */
export type PriceField = readonly [name: string, label: string]

const MINIMUM = ['minimum', words.prices.minimum] as const
const INPUT = ['input', words.prices.input] as const

/** The prices of a new model, in credits. */
export const PRICE_FIELDS: Record<Modality, readonly PriceField[]> = {
  chat: [INPUT, ['output', words.prices.output], MINIMUM],
  embedding: [INPUT, MINIMUM],
  speech: [['perCharacter', words.prices.characters], MINIMUM],
  rerank: [['perSearch', words.prices.search]],
  transcription: [['perSecond', words.prices.second]],
  moderation: [['credits', words.prices.call]],
  image: [['credits', words.prices.image]],
  video: [['credits', words.prices.video]],
}

const MILLION = 1_000_000

/** What prices of each kind are counted in: what the catalogue calls it, and how much of it. */
const COUNTED: Partial<Record<Modality, Fields>> = {
  chat: { perTokens: MILLION },
  embedding: { perTokens: MILLION },
  speech: { perCharacters: MILLION },
}

/** The price of a new model as the catalogue has it. */
function priceOf(kind: Modality, texts: Texts): Fields {
  const amounts = Object.fromEntries(PRICE_FIELDS[kind].map(([name]) => [name, numeric(texts[name])]))
  const free = Object.values(amounts).some((amount) => amount === 0) && { free: true }
  if (kind === 'transcription') return { ...free, prices: [amounts] }
  return 'credits' in amounts ? { ...free, ...amounts } : { ...free, pricing: { ...amounts, ...COUNTED[kind] } }
}

/** What is stated of the cost of each kind: the same as of its price, but for whole calls. */
const COSTS: Record<Modality, readonly string[]> = {
  chat: ['input', 'output'],
  embedding: ['input'],
  speech: ['perCharacter'],
  rerank: ['perSearch'],
  transcription: ['perSecond'],
  moderation: ['perCall'],
  image: ['perCall'],
  video: ['perCall'],
}

/** The fields of a cost that a form has. None where it is by rows, or by another unit: that is edited as JSON. */
export function costFields(kind: Modality, cost: unknown): readonly string[] {
  const stated = Object.keys(asFields(cost))
  return stated.length === 0 || COSTS[kind].some((name) => stated.includes(name)) ? COSTS[kind] : []
}

/** Micro-dollars of the catalogue that one dollar in the form is: of a million tokens, or of one of anything else. */
const scaleOf = (kind: Modality, cost: Fields): number =>
  Number(cost.perTokens ?? cost.perCharacters ?? (kind === 'speech' ? 1 : MILLION))

/** The dollars of a field of a cost, as the form shows them; empty where nothing is stated. */
export function dollarsOf(kind: Modality, cost: unknown, name: string): string {
  const value = asFields(cost)[name]
  return typeof value === 'number' ? String(value / scaleOf(kind, asFields(cost))) : ''
}

/** The cost of an entry with what the form changed. */
function costOf(kind: Modality, before: unknown, text: (name: string) => string | undefined): unknown {
  const cost = Object.keys(asFields(before)).length === 0 ? asFields(COUNTED[kind]) : asFields(before)
  const changed = costFields(kind, before).filter((name) => (text(name) ?? '') !== dollarsOf(kind, before, name))
  const amounts = changed.map((name) => {
    const dollars = numeric(text(name))
    return [name, typeof dollars === 'number' ? Math.round(dollars * scaleOf(kind, cost)) : dollars]
  })
  return changed.length === 0 ? before : { ...cost, ...(Object.fromEntries(amounts) as Fields) }
}

/** The upstreams of a model, first the one that is asked first. A pair of which one is empty is left out. */
const entriesOf = (kind: Modality, before: unknown, texts: Texts): Fields[] =>
  [...asList(before), {}].flatMap((entry, at) => {
    const [upstream, model] = [stated(texts[`upstream-${at}`]), stated(texts[`model-${at}`])]
    const cost = costOf(kind, asFields(entry).cost, (name) => texts[`cost-${at}-${name}`])
    return upstream && model ? [{ ...asFields(entry), upstream, model, cost }] : []
  })

/** Writes a model. `at`: its place among the models; null: it is new. What the form does not have stays. */
export function withModel(catalogue: unknown, at: number | null, texts: Texts): unknown {
  const models = asList(asFields(catalogue).models)
  const before = at === null ? {} : asFields(models[at])
  const written = {
    ...before,
    ...(at === null && { id: stated(texts.id), modality: texts.modality }),
    name: stated(texts.name),
    description: stated(texts.description),
    enabled: 'enabled' in texts ? undefined : false,
    ...(at === null && priceOf(texts.modality as Modality, texts)),
    upstreams: entriesOf((before.modality ?? texts.modality) as Modality, before.upstreams, texts),
  }
  const place = at ?? models.length
  return withValue(catalogue, ['models'], [...models.slice(0, place), written, ...models.slice(place + 1)])
}
