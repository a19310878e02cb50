/** What a catalogue may state about a model, by its modality, and of its entries at upstreams. */
import { z } from 'zod'
import {
  DEFAULT_STEP,
  MAX_PICTURES,
  MAX_SECONDS,
  MAX_STATED_PROMPT,
  fitsStep,
  offeredResolutions,
} from '../requests/media-options.ts'
import type { MediaOptions } from '../requests/media-options.ts'
import { MAX_CALL_CREDITS } from '../terms/pricing.ts'
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
  onceValid,
} from './price-schema.ts'
import { MAX_TOKENS } from '../requests/field-schemas.ts'
import type { WrittenPrice } from './price-schema.ts'

/** What models and upstreams may be called: a text that can be stored. */
export const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\0\p{Cs}]*$/u, 'must not have characters that cannot be stored')

/** What every entry of a model has, next to its cost. */
export const entryFields = {
  upstream: name,
  model: name,
  rename: z.record(z.string(), z.string()).default({}),
  drop: z.array(z.string()).default([]),
  set: z.record(z.string(), z.unknown()).default({}),
  allow: z.array(z.string().min(1)).default([]),
  weight: z.int().min(0).max(1000).optional(),
}

/** The shape of a model's `upstreams`: an entry states what a call costs there, in micro-dollars. */
const entriesWith = <Cost extends z.ZodType, More extends z.ZodRawShape>(cost: Cost, more: More) =>
  z.array(z.strictObject({ ...entryFields, ...more, cost: cost.optional() })).min(1)

/** The most tokens of input and output together. */
const contextLength = z.int().min(1).max(MAX_TOKENS).optional()

/** What models of every modality have. */
export const modelFields = {
  id: name,
  name: z.string().max(200).optional(),
  description: z.string().max(2000).optional(),
  timeoutSeconds: z.int().min(1).max(86_400).optional(),
  enabled: z.boolean().default(true),
  ownedBy: z.string().min(1).max(200).optional(),
  free: z.boolean().optional(),
  routing: z.enum(['order', 'weight', 'price', 'latency']).optional(),
}

type Check = z.core.$RefinementCtx

/** A price of zero must be intended: the model states `free`. */
function refuseZero(model: WrittenPrice & { free?: boolean }, context: Check): void {
  if (model.free) return
  for (const path of zeroPrices(model)) {
    context.addIssue({ code: 'custom', path, message: 'a price of zero needs "free": true' })
  }
}

/** A chat model. */
export const chatModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('chat'),
    upstreams: entriesWith(chatCosts, { contextLength }),
    pricing: chatPricing,
    contextLength,
    maxOutputTokens: z.int().min(1).max(MAX_TOKENS).optional(),
    defaultOutputTokens: z.int().min(1).max(MAX_TOKENS).optional(),
    bytesPerToken: z.number().min(1).max(3).optional(),
    partTokens: z.record(name, z.int().min(0).max(MAX_TOKENS)).optional(),
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

/** A model of pictures or videos. */
export const mediaModel = z
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
  .superRefine(checkOffered, onceValid('modality', 'prices', 'upstreams', 'resolutions', 'sizes', 'qualities'))

/** A picture has no length; a price by the second needs one; and a model has one price. */
function checkMedia(model: WrittenPrice & { modality: string; durations?: unknown }, context: Check): void {
  const { modality, durations, credits, prices } = model
  const fault = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
  if (modality === 'image' && durations !== undefined) fault('durations', 'images have no duration')
  if (credits === undefined && prices === undefined) fault('credits', 'either "credits" or "prices" is required')
  if (credits !== undefined && prices !== undefined)
    fault('prices', 'cannot be combined with "credits": one of them is the price')
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

/** A row, of a price or a cost. */
type Row = { resolution?: unknown; size?: unknown; quality?: unknown }

type Priced = MediaOptions & WrittenPrice & { upstreams: readonly { cost?: unknown }[] }

/** What a row names must be offered: every request that names it would be refused. */
function checkOffered(model: Priced, context: Check): void {
  const { prices = [], upstreams, sizes = [], qualities = [] } = model
  const offered = { resolution: offeredResolutions(model), size: sizes, quality: qualities }
  const check = (rows: readonly Row[], path: (string | number)[]): void => {
    for (const [at, row] of rows.entries())
      for (const field of ['resolution', 'size', 'quality'] as const) {
        const named = row[field]
        if (named === undefined || offered[field].some((one) => one === named)) continue
        context.addIssue({ code: 'custom', path: [...path, at, field], message: 'is not offered by the model' })
      }
  }
  check(prices, ['prices'])
  for (const [at, { cost }] of upstreams.entries())
    check((cost as { rows?: Row[] } | undefined)?.rows ?? [], ['upstreams', at, 'cost', 'rows'])
}

/** A model of embeddings. */
export const embeddingModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('embedding'),
    upstreams: entriesWith(embeddingCosts, {}),
    pricing: embeddingPricing,
    maxDimensions: z.int().min(1).max(65_536).optional(),
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

/** A model of moderations. */
export const moderationModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('moderation'),
    upstreams: entriesWith(callCosts, {}),
    credits: chatPricing.shape.minimum,
  })
  .superRefine(refuseZero, onceValid('credits', 'free'))

/** A model of rankings. */
export const rerankModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('rerank'),
    upstreams: entriesWith(searchPricing, {}),
    pricing: searchPricing,
    documentTokens: z.int().min(100).max(1_000_000).optional(),
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

/** A model of speech. */
export const speechModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('speech'),
    upstreams: entriesWith(speechCosts, {}),
    pricing: speechPricing,
  })
  .superRefine(refuseZero, onceValid('pricing', 'free'))

/** A model of transcriptions. */
export const transcriptionModel = z
  .strictObject({
    ...modelFields,
    modality: z.literal('transcription'),
    upstreams: entriesWith(transcriptionCosts, {}),
    prices: transcriptionPrices,
  })
  .superRefine(refuseZero, onceValid('prices', 'free'))
