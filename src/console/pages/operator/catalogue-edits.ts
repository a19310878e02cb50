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

/** Writes an upstream. `was`: its name so far; null: it is new. What the form does not have stays. */
export function withUpstream(catalogue: unknown, was: string | null, texts: Texts): unknown {
  const { name = '', protocol, baseUrl, apiKeyEnv, concurrency } = texts
  const place = was ?? name.trim()
  const before = asFields(asFields(asFields(catalogue).upstreams)[place])
  const written = {
    ...before,
    protocol,
    baseUrl: stated(baseUrl),
    ...(before.keys === undefined && { apiKeyEnv: stated(apiKeyEnv) }),
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

/** The upstreams of a model, first the one that is asked first. A pair of which one is empty is left out. */
const entriesOf = (before: unknown, texts: Texts): Fields[] =>
  [...asList(before), {}].flatMap((entry, at) => {
    const [upstream, model] = [stated(texts[`upstream-${at}`]), stated(texts[`model-${at}`])]
    return upstream && model ? [{ ...asFields(entry), upstream, model }] : []
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
    upstreams: entriesOf(before.upstreams, texts),
  }
  const place = at ?? models.length
  return withValue(catalogue, ['models'], [...models.slice(0, place), written, ...models.slice(place + 1)])
}
