/** A draft of a catalogue, before it is written: what the upstreams and models of another gateway become. */
import type { Protocol } from '../../../shared/catalogue/catalogue.ts'
import type { Exact } from '../exact.ts'

/** The kinds of models whose prices can be taken over. Of every other kind the price has another form there. */
export type DraftModality = 'chat' | 'embedding' | 'image'

/** A key of an upstream: the variable that holds it, and its value if it is known. `models`: null for all. */
export type DraftKey = { variable: string; secret: string | null; models: readonly string[] | null }

/** An upstream. Without keys it needs none. */
export type DraftUpstream = { protocol: Protocol; baseUrl: string; keys: readonly DraftKey[] }

/**
 * What a call costs, in units that the place states: for each token, or for each call. `output`: null if their price of
 * output is not known.
 */
export type DraftPrice =
  | { for: 'token'; input: Exact; output: Exact | null; cachedInput: Exact | null; cacheWrite: Exact | null }
  | { for: 'call'; amount: Exact }

/**
 * A model at an upstream. Those of the highest priority share the calls by weight; the others follow as fallbacks.
 * `cost`: in micro-dollars.
 */
export type DraftRoute = { upstream: string; model: string; priority: number; weight: number; cost: DraftPrice | null }

/** A model; `price` in credits. */
export type DraftModel = { id: string; modality: DraftModality; price: DraftPrice; routes: readonly DraftRoute[] }

/** A group: its share of every price, and the ids of the models that it sees; null: all. */
export type DraftGroup = { ratio: Exact; models: readonly string[] | null }

/** The whole draft. */
export type Draft = {
  upstreams: ReadonlyMap<string, DraftUpstream>
  models: readonly DraftModel[]
  groups: ReadonlyMap<string, DraftGroup>
}

/** What a model of a name probably is: the gateways do not store it. Names of kinds that have no price here, too. */
const NAMES: readonly [RegExp, string][] = [
  [/embed|^bge-(?!rerank)|^m3e/i, 'embedding'],
  [/rerank/i, 'rerank'],
  [/moderation/i, 'moderation'],
  [/realtime/i, 'realtime'],
  [/\btts\b|speech/i, 'speech'],
  [/whisper|transcribe/i, 'transcription'],
  [/sora|\bveo|kling|vidu|seedance|hailuo|video|suno/i, 'video'],
  [/dall-e|gpt-image|imagen|\bflux|stable-diffusion|seedream|cogview|midjourney|^mj_/i, 'image'],
]

/** The modality of a model by its name. */
export const modalityOf = (name: string): string => NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? 'chat'

/** Whether a draft can price models of this modality. */
export const isDraftModality = (modality: string): modality is DraftModality =>
  ['chat', 'embedding', 'image'].includes(modality)

/** A text as a part of a name of an upstream. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '')

/** The address of an upstream without a slash at its end; null for one that is none, or may have a secret in it. */
export function addressOf(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === ''
  return isPlain && /^https?:$/.test(url.protocol) ? text.replace(/\/+$/, '') : null
}
