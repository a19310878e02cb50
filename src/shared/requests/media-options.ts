/**
 * Which durations, resolutions, sizes and qualities a media model offers, and what is sent where a request names none.
 * Only what the catalogue offers has a price, so nothing else passes. Pure: the console uses it too.
 */
import type { MediaShape } from '../terms/media-rows.ts'
import type { MediaPrice } from '../terms/pricing.ts'
import { mediaCost } from '../terms/pricing.ts'

/** From `min` in steps of `step` (`DEFAULT_STEP` if absent) up to `max`, which is one of them, in seconds. */
type Range = { min: number; max: number; default?: number; step?: number }

/** The seconds of a video: those of a list, or of a range. */
type Durations = number[] | Range

/** What the catalogue states about a model. Only pictures have sizes and qualities. */
export type MediaOptions = {
  modality: 'image' | 'video'
  durations?: Durations
  resolutions?: string[]
  sizes?: string[]
  qualities?: string[]
}

/** The most pictures of a call: as OpenAI has it. */
export const MAX_PICTURES = 10

/** The longest prompt of a picture or a video where its model states none, in code points. */
export const MAX_PROMPT = 2000

/** The longest prompt that a model of pictures may state, in code points. */
export const MAX_STATED_PROMPT = 32_000

/** Lets the upstream choose a size or a quality, as naming none does. */
export const AUTO = 'auto'

/** The longest duration that any model may offer, in seconds. */
export const MAX_SECONDS = 600

/** The longest duration of a model that states none, in seconds. */
export const UNSTATED_MAX_SECONDS = 10

/** The step of durations where a model states none, in seconds: an upstream cannot round one up unseen. */
export const DEFAULT_STEP = 0.1

/** A model without durations. */
const UNSTATED = { min: 0, max: UNSTATED_MAX_SECONDS } as const

/**
 * Whether `seconds` is `min` and a whole number of steps, as decimals: floating point would refuse 0.3 of steps of 0.1.
 */
export function fitsStep(seconds: number, { min, step = DEFAULT_STEP }: Pick<Range, 'min' | 'step'>): boolean {
  const digits = Math.max(...[seconds, min, step].map(fractionDigits))
  const [some, first, one] = [seconds, min, step].map((decimal) => scaled(decimal, digits)) as [bigint, bigint, bigint]
  return (some - first) % one === 0n
}

/** A decimal as it is written, `1e-7` too. */
function partsOf(decimal: number): { digits: string; fraction: number } {
  const [mantissa = '', exponent = '0'] = String(decimal).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: whole + fraction, fraction: fraction.length - Number(exponent) }
}

const fractionDigits = (decimal: number): number => Math.max(0, partsOf(decimal).fraction)

/** `decimal × 10 ** digits`, exactly; `digits` are at least those of its fraction. */
function scaled(decimal: number, digits: number): bigint {
  const { digits: written, fraction } = partsOf(decimal)
  return BigInt(written) * 10n ** BigInt(digits - fraction)
}

/** The resolutions of a model that states none. */
const UNSTATED_RESOLUTIONS = { image: ['1K'], video: ['480p', '720p'] } as const

/** Whether a model makes videos of this many seconds. */
export function offersDuration({ durations }: Pick<MediaOptions, 'durations'>, seconds: number): boolean {
  if (Array.isArray(durations)) return durations.includes(seconds)
  const range = durations ?? UNSTATED
  return seconds >= range.min && seconds <= range.max && fitsStep(seconds, range)
}

/** The seconds of a request that names none; undefined if the model states none: the upstream's own default. */
export const defaultDuration = ({ durations }: Pick<MediaOptions, 'durations'>): number | undefined =>
  Array.isArray(durations) ? durations[0] : (durations?.default ?? durations?.min)

/** Durations to choose from, in seconds: those of a list; of a range its steps, about one of them a second. */
export function durationChoices({ durations }: Pick<MediaOptions, 'durations'>): number[] {
  if (Array.isArray(durations)) return durations
  const { min, max, step = DEFAULT_STEP } = durations ?? { ...UNSTATED, min: 1 }
  const stride = Math.max(1, Math.round(1 / step)) * step
  // Rounded to nine digits, which no duration has: a sum of steps is a decimal.
  const choices = Array.from({ length: Math.floor((max - min) / stride) + 1 }, (_one, at) => min + at * stride)
  return choices.map((seconds) => Number(seconds.toFixed(9)))
}

/** The resolutions that a model offers: none if it states only sizes. */
export const offeredResolutions = ({ modality, resolutions, sizes }: MediaOptions): readonly string[] =>
  resolutions ?? (sizes ? [] : UNSTATED_RESOLUTIONS[modality])

/** The offered durations as words: `4 or 8 seconds`, `1 to 10 seconds`. */
export function durationsText({ durations }: Pick<MediaOptions, 'durations'>): string {
  if (durations === undefined) return `at most ${UNSTATED_MAX_SECONDS} seconds in steps of ${DEFAULT_STEP}`
  if (Array.isArray(durations)) return `${durations.join(' or ')} seconds`
  return `${durations.min} to ${durations.max} seconds in steps of ${durations.step ?? DEFAULT_STEP}`
}

/** Everything that may be asked of a model, but for durations between the shortest and the longest. */
export function offeredShapes({ modality, durations, resolutions, sizes, qualities }: MediaOptions): MediaShape[] {
  const lengths =
    durations === undefined ? [undefined] : Array.isArray(durations) ? durations : [durations.min, durations.max]
  // Where a model states nothing, a request that names nothing is sent on without a resolution.
  const resolved = resolutions ?? (sizes ? [] : [undefined, ...UNSTATED_RESOLUTIONS[modality]])
  const areas: MediaShape[] = [
    ...resolved.map((resolution) => (resolution === undefined ? {} : { resolution })),
    ...(sizes ?? []).map((size) => ({ size })),
  ]
  const finishes: MediaShape[] = qualities?.map((quality) => ({ quality })) ?? [{}]
  return lengths.flatMap((duration) =>
    areas.flatMap((area) =>
      finishes.map((finish) => ({ ...(duration !== undefined && { duration }), ...area, ...finish })),
    ),
  )
}

/**
 * The least that one picture or one video costs which a model offers, in credits; null if none has a price.
 * @param asked what it must be
 */
export function leastMediaCost(options: MediaOptions, price: MediaPrice, asked: MediaShape = {}): number | null {
  const isAsked = (shape: MediaShape): boolean =>
    Object.entries(asked).every(([field, value]) => value === undefined || shape[field as keyof MediaShape] === value)
  const costs = offeredShapes(options).flatMap((shape) => (isAsked(shape) ? (mediaCost(price, shape) ?? []) : []))
  return costs.length > 0 ? Math.min(...costs) : null
}
