/**
 * The catalogue: which models there are, what they cost and which upstreams serve them (docs/upstreams.md).
 */
import { z } from 'zod'
import type { Modality } from '../calls/lifecycle.ts'
import { DEFAULT_STEP, MAX_PICTURES, MAX_SECONDS, MAX_STATED_PROMPT, fitsStep } from '../requests/media-options.ts'
import type {
  CallPrice,
  ChatPrice,
  EmbeddingPrice,
  MediaPrice,
  RerankPrice,
  Share,
  SpeechPrice,
} from '../requests/pricing.ts'
import { MAX_CALL_CREDITS } from '../requests/pricing.ts'
import { onceValid } from './checks.ts'
import type { GroupLimits } from './groups.ts'
import { groupsSchema } from './groups.ts'
import {
  RESOLUTION,
  callCosts,
  chatCosts,
  chatPricing,
  embeddingCosts,
  embeddingPricing,
  mediaCosts,
  mediaPrices,
  pictureQuality,
  pictureSize,
  searchPricing,
  speechCosts,
  speechPricing,
  transcriptionCosts,
  transcriptionPrices,
  zeroPrices,
} from './price-schema.ts'
import type { WrittenPrice } from './price-schema.ts'
import { packsSchema, topUpSchema } from './packs.ts'
import type { Pack, TopUp } from './packs.ts'

/** The wire protocols that the workers' adapters speak (docs/upstreams.md#add-an-upstream). */
export const PROTOCOLS = ['openai', 'anthropic', 'responses', 'fal', 'replicate', 'openrouter'] as const
/** A wire protocol of upstreams. */
export type Protocol = (typeof PROTOCOLS)[number]

/** What each protocol can serve. A catalogue with a model that its upstream's protocol cannot serve is refused. */
export const SERVED: Record<Protocol, readonly Modality[]> = {
  openai: ['chat', 'image', 'video', 'embedding', 'moderation', 'rerank', 'speech', 'transcription'],
  anthropic: ['chat'],
  responses: ['chat'],
  fal: ['image', 'video'],
  replicate: ['image', 'video'],
  openrouter: ['chat', 'image', 'video'],
}

const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\0\p{Cs}]*$/u, 'must not have characters that cannot be stored')

/** A header that can be sent: by others every call of the upstream would fail. */
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/)
const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be a text that a header can have')

const upstreamSchema = z.strictObject({
  protocol: z.enum(PROTOCOLS),
  baseUrl: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
  results: z.enum(['store', 'link']).default('store'),
  headers: z.record(headerName, headerValue).default({}),
  concurrency: z.int().min(1).optional(),
  fetchImages: z.boolean().optional(),
  customTools: z.boolean().optional(),
  systemAnywhere: z.boolean().optional(),
})

const entryFields = {
  upstream: name,
  model: name,
  rename: z.record(z.string(), z.string()).default({}),
  drop: z.array(z.string()).default([]),
  set: z.record(z.string(), z.unknown()).default({}),
  allow: z.array(z.string().min(1)).default([]),
}

/** The shape of a model's `upstreams`: an entry says what a call costs there, in micro-dollars. */
const entriesWith = <Cost extends z.ZodType, More extends z.ZodRawShape>(cost: Cost, more: More) =>
  z.array(z.strictObject({ ...entryFields, ...more, cost: cost.optional() })).min(1)

/** The most tokens of input and output together. */
const contextLength = z.int().min(1).max(100_000_000).optional()

/** What models of every modality have. */
export const modelFields = {
  id: name,
  name: z.string().max(200).optional(),
  description: z.string().max(2000).optional(),
  timeoutSeconds: z.int().min(1).max(86_400).optional(),
  enabled: z.boolean().default(true),
  ownedBy: z.string().min(1).max(200).optional(),
  free: z.boolean().optional(),
}

type Check = z.core.$RefinementCtx

/** A call that costs nothing is no slip of the pen: the model says `free`. */
function refuseZero(model: WrittenPrice & { free?: boolean }, context: Check): void {
  if (model.free) return
  for (const path of zeroPrices(model)) {
    context.addIssue({ code: 'custom', path, message: 'a price of zero needs "free": true' })
  }
}

const chatModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('chat'),
    upstreams: entriesWith(chatCosts, { contextLength }),
    pricing: chatPricing,
    contextLength,
    maxOutputTokens: z.int().min(1).max(100_000_000).optional(),
    defaultOutputTokens: z.int().min(1).max(100_000_000).optional(),
    bytesPerToken: z.number().min(1).max(3).optional(),
    partTokens: z.record(name, z.int().min(0).max(100_000_000)).optional(),
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))
  .refine(({ contextLength = Infinity, maxOutputTokens = 0 }) => maxOutputTokens <= contextLength, {
    ...onceValid('contextLength', 'maxOutputTokens'),
    path: ['contextLength'],
    message: 'must be at least "maxOutputTokens"',
  })
  .refine(({ maxOutputTokens = Infinity, defaultOutputTokens = 1 }) => defaultOutputTokens <= maxOutputTokens, {
    ...onceValid('maxOutputTokens', 'defaultOutputTokens'),
    path: ['defaultOutputTokens'],
    message: 'must be at most "maxOutputTokens"',
  })

const seconds = z.number().gt(0).lte(MAX_SECONDS)

const range = z
  .strictObject({ min: seconds, max: seconds, default: seconds.optional(), step: seconds.default(DEFAULT_STEP) })
  .refine(({ min, max, default: one = min }) => min <= one && one <= max, {
    ...onceValid('min', 'max', 'default'),
    message: 'must have its "default" between "min" and "max"',
  })
  .refine(({ min, max, default: one = min, step }) => [max, one].every((end) => fitsStep(end, { min, step })), {
    ...onceValid('min', 'max', 'default', 'step'),
    message: `must reach "max" and "default" from "min" in whole steps ("step", ${DEFAULT_STEP} if absent)`,
  })

const mediaModel = z
  .strictObject({
    ...modelFields,
    modality: z.enum(['image', 'video']),
    upstreams: entriesWith(mediaCosts, {}),
    credits: chatPricing.shape.minimum.optional(),
    prices: mediaPrices.optional(),
    durations: z
      .union(
        [z.array(seconds).min(1), range],
        `a list of seconds, or {"min", "max", "default"?, "step"?}, up to ${MAX_SECONDS}`,
      )
      .optional(),
    resolutions: z.array(z.string().regex(RESOLUTION)).min(1).optional(),
    sizes: z.array(pictureSize).min(1).max(100).optional(),
    qualities: z.array(pictureQuality).min(1).max(100).optional(),
    maxPromptLength: z.int().min(1).max(MAX_STATED_PROMPT).optional(),
  })
  .superRefine(refuseZero, onceValid('credits', 'prices', 'free'))
  .superRefine(checkMedia, onceValid('modality', 'durations', 'credits', 'prices'))
  .superRefine(checkPictures, onceValid('modality', 'credits', 'prices', 'sizes', 'qualities', 'maxPromptLength'))

/** A picture has no length; a price by the second needs one; and a model has one price. */
function checkMedia(model: WrittenPrice & { modality: string; durations?: unknown }, context: Check): void {
  const { modality, durations, credits, prices } = model
  const fault = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
  if (modality === 'image' && durations !== undefined) fault('durations', 'images have no duration')
  if (credits === undefined && prices === undefined) fault('credits', 'either "credits" or "prices" is required')
  if (credits !== undefined && prices !== undefined)
    fault('prices', 'stands beside "credits": one of them is the price')
  for (const [at, row] of (prices ?? []).entries()) {
    if (!('perSecond' in row) || durations !== undefined) continue
    context.addIssue({ code: 'custom', path: ['prices', at, 'perSecond'], message: 'needs the model\'s "durations"' })
  }
}

/** What only pictures have. Those of a call together are charged what any call may move at the most. */
function checkPictures(model: WrittenPrice & Record<string, unknown> & { modality: string }, context: Check): void {
  const { credits = 0, prices = [] } = model
  const fault = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
  if (model.modality === 'image') {
    const most = Math.floor(MAX_CALL_CREDITS / MAX_PICTURES)
    const tooDear = `must be at most ${most}: a call may ask for ${MAX_PICTURES} pictures`
    if (credits > most) fault(['credits'], tooDear)
    for (const [at, row] of prices.entries())
      if ('credits' in row && row.credits > most) fault(['prices', at, 'credits'], tooDear)
    return
  }
  for (const field of ['sizes', 'qualities', 'maxPromptLength'])
    if (model[field] !== undefined) fault([field], 'is of models of images alone')
  for (const [at, row] of prices.entries())
    for (const field of ['size', 'quality'])
      if (Object.hasOwn(row, field)) fault(['prices', at, field], 'is of models of images alone')
}

const embeddingModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('embedding'),
    upstreams: entriesWith(embeddingCosts, {}),
    pricing: embeddingPricing,
    maxDimensions: z.int().min(1).max(65_536).optional(),
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

const moderationModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('moderation'),
    upstreams: entriesWith(callCosts, {}),
    credits: chatPricing.shape.minimum,
  })
  .superRefine(refuseZero, onceValid('credits', 'free'))

const rerankModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('rerank'),
    upstreams: entriesWith(searchPricing, {}),
    pricing: searchPricing,
    documentTokens: z.int().min(100).max(1_000_000).optional(),
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

const speechModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('speech'),
    upstreams: entriesWith(speechCosts, {}),
    pricing: speechPricing,
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

const transcriptionModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('transcription'),
    upstreams: entriesWith(transcriptionCosts, {}),
    prices: transcriptionPrices,
  })
  .superRefine(refuseZero, onceValid('prices', 'free'))

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

/** A provider of the catalogue, with its key. */
export type Upstream = z.infer<typeof upstreamSchema> & {
  name: string
  /** The key itself; null if the catalogue names none. */
  apiKey: string | null
}

/** One way to serve a model: an upstream, and how requests to it are adapted. */
type RouteWith<Cost> = Omit<z.infer<z.ZodObject<typeof entryFields>>, 'upstream'> & {
  upstream: Upstream
  cost?: Cost
  contextLength?: number | undefined
}
/**
 * One of the upstreams of a model: its name there, and what is changed in the request. `contextLength`: the most tokens
 * that it takes of a chat, as its entry states it, or else the model.
 */
export type Route = RouteWith<ChatCost | EmbeddingCost | SpeechCost | MediaCost | CallCost | SearchCost>

/** What a call costs at an upstream, in micro-dollars. */
type ChatCost = z.infer<typeof chatCosts>
/** What embeddings cost at an upstream, in micro-dollars. */
type EmbeddingCost = z.infer<typeof embeddingCosts>
/** What speech costs at an upstream, in micro-dollars. */
type SpeechCost = z.infer<typeof speechCosts>
/** What a picture or a video costs at an upstream, in micro-dollars. */
type MediaCost = z.infer<typeof mediaCosts>

/** What a moderation costs at an upstream, in micro-dollars. */
type CallCost = z.infer<typeof callCosts>
/** What a search costs at an upstream, in micro-dollars. */
type SearchCost = z.infer<typeof searchPricing>

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

/** Whether a model is paid by its tokens: its calls are settled on what was used. */
export const isPaidByTokens = (model: Model): model is ChatModel | EmbeddingModel =>
  model.modality === 'chat' || model.modality === 'embedding'

/** What somebody is offered of a version of the catalogue. */
export type Offer = {
  /** Counts from 1. */
  version: number
  /** Unix seconds of when the version was applied: the `created` of its models. */
  createdAt: number
  /** What a credit is worth, in micro-dollars; null where the version does not say. */
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
export function findModel(offer: Offer, id: string, modality: 'chat'): ChatModel | null
export function findModel(offer: Offer, id: string, modality: 'image' | 'video'): MediaModel | null
export function findModel(offer: Offer, id: string, modality: 'embedding'): EmbeddingModel | null
export function findModel(offer: Offer, id: string, modality: Modality): Model | null
export function findModel(offer: Offer, id: string, modality: Modality): Model | null {
  const model = offer.models.get(id)
  return model && model.modality === modality ? model : null
}
