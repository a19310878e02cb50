/**
 * How prices and costs are written in the catalogue (docs/pricing.md). Prices are whole credits, costs whole
 * micro-dollars: nothing is a fraction, nothing is negative, and nothing is so large that a sum of it is not exact.
 */
import { z } from 'zod'
import { MAX_SECONDS } from '../requests/media-options.ts'
import { MAX_CALL_CREDITS } from '../terms/pricing.ts'

/** The form of `resolution`, in the catalogue and in requests. */
export const RESOLUTION = /^[A-Za-z0-9x:-]{1,32}$/

const rate = z.int().min(0).max(1_000_000_000)
const amount = z.int().min(0).max(MAX_CALL_CREDITS)

/** Of a second, so that the longest video does not cost more than any call may. */
const ofASecond = z
  .int()
  .min(0)
  .max(Math.floor(MAX_CALL_CREDITS / MAX_SECONDS))

const tokenRates = {
  input: rate,
  output: rate,
  cachedInput: rate.optional(),
  cacheWrite: rate.optional(),
  perCall: amount.optional(),
  perTokens: z.int().min(1).max(1_000_000_000),
}

/** The price of a chat, in credits. */
export const chatPricing = z.strictObject({ ...tokenRates, minimum: amount })

/** What a chat costs at its upstream, in micro-dollars. */
export const chatCosts = z.strictObject({ ...tokenRates, minimum: amount.default(0) })

const inputRates = { input: rate, perTokens: tokenRates.perTokens }

/** The price of embeddings, in credits. */
export const embeddingPricing = z.strictObject({ ...inputRates, minimum: amount })

/** What embeddings cost at their upstream, in micro-dollars. */
export const embeddingCosts = z.strictObject({ ...inputRates, minimum: amount.default(0) })

/** The price of a search in credits, or its cost in micro-dollars. */
export const searchPricing = z.strictObject({ perSearch: rate })

/** What a call costs at its upstream, in micro-dollars, no matter what it asks for. */
export const callCosts = z.strictObject({ perCall: amount })
const characterRates = { perCharacter: rate, perCharacters: tokenRates.perTokens.optional() }

/** The price of speech, in credits. */
export const speechPricing = z.strictObject({ ...characterRates, minimum: amount.optional() })

/** What speech costs at its upstream, in micro-dollars. */
export const speechCosts = speechPricing

/** The price of transcriptions, in credits. */
export const transcriptionPrices = z.array(z.strictObject({ perSecond: ofASecond })).length(1)

/** What transcriptions cost at their upstream, in micro-dollars. */
export const transcriptionCosts = z.strictObject({ perSecond: ofASecond })
/** A width and a height, of a picture. */
export const pictureSize = z.string().regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/, 'must be a width and a height, as 1024x1536')

/** What a quality may be called: `auto` is none. */
export const pictureQuality = z.string().regex(/^(?!auto$)[a-z0-9_-]{1,32}$/, 'must be a word, and not "auto"')

const resolution = z.string().regex(RESOLUTION).optional()

const ofPicture = { resolution, size: pictureSize.optional(), quality: pictureQuality.optional() }

/**
 * A row of the prices of a model of pictures or videos: by the second or as a whole; of one resolution, size or
 * quality, or of any.
 */
const mediaRow = z.union(
  [z.strictObject({ resolution, perSecond: ofASecond }), z.strictObject({ ...ofPicture, credits: amount })],
  'a row is {"resolution"?, "perSecond"} or {"resolution"?, "size"?, "quality"?, "credits"}, in whole credits',
)

/** The rows, of which the first that fits counts. */
export const mediaPrices = z.array(mediaRow).min(1).max(100)

/**
 * What a picture or a video costs at its upstream, in micro-dollars: by the second, as a whole, or of pictures in rows,
 * of which the first that fits counts.
 */
export const mediaCosts = z.union(
  [
    z.strictObject({ perSecond: ofASecond }),
    callCosts,
    z.strictObject({
      rows: z
        .array(z.strictObject({ ...ofPicture, perCall: amount }))
        .min(1)
        .max(100),
    }),
  ],
  'a cost is {"perSecond"}, {"perCall"} or {"rows"} of {"size"?, "quality"?, "perCall"}, in whole micro-dollars',
)

/** A price as it is written in a model. */
export type WrittenPrice = {
  pricing?:
    | z.infer<typeof chatPricing>
    | z.infer<typeof embeddingPricing>
    | z.infer<typeof searchPricing>
    | z.infer<typeof speechPricing>
  prices?: z.infer<typeof mediaPrices>
  credits?: number
}

/** The paths of prices of zero in a model; empty if it has none. */
export function zeroPrices({ pricing, prices, credits }: WrittenPrice): (string | number)[][] {
  if (pricing) {
    const { perTokens: _tokens, perCharacters: _characters, ...rates } = pricing as Record<string, number | undefined>
    return Object.values(rates).every((one = 0) => one === 0) ? [['pricing']] : []
  }
  if (credits === 0) return [['credits']]
  return (prices ?? []).flatMap((row, at) => {
    const field = 'perSecond' in row ? 'perSecond' : 'credits'
    return (row as Record<string, unknown>)[field] === 0 ? [['prices', at, field]] : []
  })
}

/**
 * Makes a check as soon as the fields that it compares are right by themselves, even if other fields of their object
 * are wrong: by default zod leaves it out where anything is, and a fault would be named only once all others are fixed.
 */
export const onceValid = (...fields: string[]) => ({
  when: ({ value, issues }: z.core.ParsePayload): boolean =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    issues.every(({ path }) => !fields.includes(String(path?.[0]))),
})
