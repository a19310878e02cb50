/** The catalogue: which models there are, what they cost and which upstreams serve them (docs/upstreams/README.md). */
import { z } from 'zod'
import type { Modality } from '../terms/kinds.ts'
import { MODALITIES } from '../terms/kinds.ts'
import type {
  CallPrice,
  ChatPrice,
  EmbeddingPrice,
  MediaPrice,
  RerankPrice,
  Share,
  SpeechPrice,
} from '../terms/pricing.ts'
import type { GroupLimits } from './groups.ts'
import { groupsSchema } from './groups.ts'
import {
  chatModel,
  embeddingModel,
  mediaModel,
  moderationModel,
  name,
  rerankModel,
  speechModel,
  transcriptionModel,
} from './model-schemas.ts'
import type { entryFields } from './model-schemas.ts'
import { packsSchema, topUpSchema } from './packs.ts'
import type { Pack, TopUp } from './packs.ts'

/** The wire protocols that the workers' adapters speak (docs/upstreams/README.md#add-an-upstream). */
export const PROTOCOLS = ['openai', 'anthropic', 'responses', 'gemini', 'fal', 'replicate', 'openrouter'] as const
/** A wire protocol of upstreams. */
export type Protocol = (typeof PROTOCOLS)[number]

/** What each protocol can serve. A catalogue with a model that its upstream's protocol cannot serve is refused. */
export const SERVED: Record<Protocol, readonly Modality[]> = {
  openai: MODALITIES,
  anthropic: ['chat'],
  responses: ['chat'],
  gemini: ['chat', 'image', 'embedding'],
  fal: ['image', 'video'],
  replicate: ['image', 'video'],
  openrouter: ['chat', 'image', 'video'],
}

/** A header that can be sent: by others every call of the upstream would fail. */
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/)
const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be a text that a header can have')

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .refine((name) => !(name in Object.prototype), 'must be the name of an environment variable')

/** The most keys of an upstream. */
const MAX_KEYS = 50

/** A key of a pool (docs/upstreams/keys.md). */
const keySchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
  apiKeyEnv: variable,
  weight: z.int().min(0).max(1000).default(1),
  concurrency: z.int().min(1).optional(),
  models: z.array(name).min(1).optional(),
})

const poolSchema = z
  .array(keySchema)
  .min(1)
  .max(MAX_KEYS)
  .superRefine((keys, context) => {
    for (const [at, { name: own }] of keys.entries())
      if (keys.findIndex((one) => one.name === own) < at)
        context.addIssue({ code: 'custom', path: [at, 'name'], message: `"${own}" appears more than once` })
  })

const upstreamSchema = z
  .strictObject({
    protocol: z.enum(PROTOCOLS),
    baseUrl: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
    apiKeyEnv: variable.optional(),
    keys: poolSchema.optional(),
    results: z.enum(['store', 'link']).default('store'),
    headers: z.record(headerName, headerValue).default({}),
    concurrency: z.int().min(1).optional(),
    fetchImages: z.boolean().optional(),
    customTools: z.boolean().optional(),
    promptCacheKey: z.boolean().optional(),
    systemAnywhere: z.boolean().optional(),
  })
  .refine(({ apiKeyEnv, keys }) => apiKeyEnv === undefined || keys === undefined, {
    path: ['keys'],
    message: 'cannot be combined with "apiKeyEnv": one of them names the keys',
  })
  // Its models take pictures as data, unless the entry states that they may be sent addresses.
  .transform((upstream) => (upstream.protocol === 'gemini' ? { fetchImages: true, ...upstream } : upstream))

/** The whole content of a catalogue. */
export const catalogueSchema = z.strictObject({
  /** What a credit is worth, in micro-dollars; without it there are no margins. */
  creditMicroUsd: z.int().min(1).max(1_000_000_000).optional(),
  packs: packsSchema,
  topUp: topUpSchema.optional(),
  groups: groupsSchema,
  upstreams: z.record(name, upstreamSchema),
  models: z.array(
    z.discriminatedUnion('modality', [
      chatModel,
      mediaModel,
      embeddingModel,
      moderationModel,
      rerankModel,
      speechModel,
      transcriptionModel,
    ]),
  ),
})

/** The name of the only key of an upstream that states no pool. */
export const DEFAULT_KEY = 'default'

/** A key of an upstream. `secret`: the key itself; null if the catalogue names none. */
export type PoolKey = Omit<z.infer<typeof keySchema>, 'apiKeyEnv'> & { secret: string | null }

/** A provider of the catalogue. */
export type Upstream = Omit<z.infer<typeof upstreamSchema>, 'keys' | 'apiKeyEnv'> & {
  name: string
  /** Its configured keys: at least one. */
  keys: readonly PoolKey[]
  /** The name of the key that it is asked with, and that key; until one is chosen, the first. */
  key: string
  apiKey: string | null
}

/** A key of the catalogue's upstream, and whether this process has it. */
export type NamedKey = { name: string; variable: string | null; configured: boolean }

/** A model as the catalogue's content states it. */
export type WrittenModel = z.infer<typeof catalogueSchema>['models'][number]
/**
 * One of the upstreams of a model: its name there, and what is changed in the request. `cost`: what a call costs there,
 * in micro-dollars. `contextLength`: the most tokens that it takes of a chat, as its entry or else its model states.
 */
export type Route = Omit<z.infer<z.ZodObject<typeof entryFields>>, 'upstream'> & {
  upstream: Upstream
  cost?: NonNullable<WrittenModel['upstreams'][number]['cost']>
  contextLength?: number | undefined
}

/** The keys of a route's upstream that may serve its model. */
export const keysFor = ({ upstream, model }: Pick<Route, 'upstream' | 'model'>): readonly PoolKey[] =>
  upstream.keys.filter(({ models }) => models?.includes(model) ?? true)

/** A route whose upstream is asked with this key. */
export const withKey = (route: Route, { name: key, secret: apiKey }: PoolKey): Route =>
  route.upstream.key === key ? route : { ...route, upstream: { ...route.upstream, key, apiKey } }

/** `version` is that of the catalogue: a call is charged and served by the one that it was opened at. */
type Offered<Its> = { version: number; routes: Route[]; price: Its & Share }
/** A chat model with its routes and its price. */
export type ChatModel = z.infer<typeof chatModel> & Offered<ChatPrice>
/** An image or video model with its routes and its price. */
export type MediaModel = z.infer<typeof mediaModel> & Offered<MediaPrice>
/** A model of embeddings with its routes and its price. */
export type EmbeddingModel = z.infer<typeof embeddingModel> & Offered<EmbeddingPrice>
/** A model of moderations with its routes and its price. */
export type ModerationModel = z.infer<typeof moderationModel> & Offered<CallPrice>
/** A model of rankings with its routes and its price. */
export type RerankModel = z.infer<typeof rerankModel> & Offered<RerankPrice>
/** A model of speech with its routes and its price. */
export type SpeechModel = z.infer<typeof speechModel> & Offered<SpeechPrice>
/** A model of transcriptions with its routes and its price. */
export type TranscriptionModel = z.infer<typeof transcriptionModel> & Offered<Extract<MediaPrice, { prices: unknown }>>
/** A model of the catalogue. */
export type Model =
  | ChatModel
  | MediaModel
  | EmbeddingModel
  | ModerationModel
  | RerankModel
  | SpeechModel
  | TranscriptionModel

/** A model of this kind. */
export type ModelOf<M extends Modality> = M extends 'image' | 'video' ? MediaModel : Extract<Model, { modality: M }>

/** Whether a model is paid by its tokens: its calls are settled on what was used. */
export const isPaidByTokens = (model: Model): model is ChatModel | EmbeddingModel =>
  model.modality === 'chat' || model.modality === 'embedding'

/** What somebody is offered of a version of the catalogue. */
export type Offer = {
  /** Counts from 1. */
  version: number
  /** Unix seconds of when the version was applied: the `created` of its models. */
  createdAt: number
  /** What a credit is worth, in micro-dollars; null if the version does not state it. */
  creditMicroUsd: number | null
  /** Every enabled model by its id. */
  models: ReadonlyMap<string, Model>
}

/**
 * Accounts that are served at a price and limits of their own (docs/pricing.md#groups). `offer`: the models that they
 * may see, at their price.
 */
export type Group = GroupLimits & { offer: Offer }

/**
 * A version of the catalogue as a process uses it. `routes` holds only configured upstreams, in their order. Its
 * `models` are those of accounts without a group.
 */
export type Catalogue = Offer & {
  /** The groups by their names. */
  groups: ReadonlyMap<string, Group>
  /** Every upstream that is configured, whether a model uses it or not. */
  upstreams: readonly Upstream[]
  /** Every upstream by its name, configured or not, with its keys. */
  pools: ReadonlyMap<string, readonly NamedKey[]>
  /** The packs of credits that are sold. */
  packs: readonly Pack[]
  /** How free amounts are sold; null: not at all. */
  topUp: TopUp | null
  /** What is not used of it, and why: the version is older than a rule that it breaks. */
  refused: readonly { path: string; message: string }[]
}

/**
 * What an account is offered. One whose group is not in this version is offered what accounts without a group are: no
 * version is applied that loses the group of an account, so it is only in the moment before a new version is taken.
 * @param group null: none
 */
export const offerTo = (catalogue: Catalogue, { group }: { group: string | null }): Offer =>
  (group === null ? undefined : catalogue.groups.get(group)?.offer) ?? catalogue

/** The enabled model of this id and modality; null if there is none (`unsupported_model`). */
export function findModel<M extends Modality>(offer: Offer, id: string, modality: M): ModelOf<M> | null {
  const model = offer.models.get(id)
  return model?.modality === modality ? (model as ModelOf<M>) : null
}
