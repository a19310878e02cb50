/**
 * Which durations and resolutions a media model offers, and what is sent where a request names none. Only what the
 * catalogue offers has a price, so nothing else passes. Pure: the console uses it too.
 */
import type { MediaPrice, MediaShape } from './pricing.ts'
import { mediaCost } from './pricing.ts'

/** The seconds of a video: those of a list, or all between two, both included. */
export type Durations = number[] | { min: number; max: number; default?: number }

/** What the catalogue states about a model. */
export type MediaOptions = { modality: 'image' | 'video'; durations?: Durations; resolutions?: string[] }

/** The longest duration that any model may offer, in seconds. */
export const MAX_SECONDS = 600

/** The longest duration of a model that states none, in seconds. */
export const UNSTATED_MAX_SECONDS = 10

/** The resolutions of a model that states none. */
const UNSTATED_RESOLUTIONS = { image: ['1K'], video: ['480p', '720p'] } as const

/** Whether a model makes videos of so many seconds. */
export function offersDuration({ durations }: Pick<MediaOptions, 'durations'>, seconds: number): boolean {
  if (durations === undefined) return seconds <= UNSTATED_MAX_SECONDS
  return Array.isArray(durations) ? durations.includes(seconds) : seconds >= durations.min && seconds <= durations.max
}

/** The seconds of a request that names none; undefined where the model states none: the upstream's own default. */
export function defaultDuration({ durations }: Pick<MediaOptions, 'durations'>): number | undefined {
  return Array.isArray(durations) ? durations[0] : (durations?.default ?? durations?.min)
}

/** Durations to choose from, in seconds: those of a list, or the whole numbers of a range. */
export function durationChoices({ durations }: Pick<MediaOptions, 'durations'>): number[] {
  if (Array.isArray(durations)) return durations
  const { min, max } = durations ?? { min: 1, max: UNSTATED_MAX_SECONDS }
  return Array.from({ length: Math.max(0, Math.floor(max) - Math.ceil(min) + 1) }, (_one, at) => Math.ceil(min) + at)
}

/** The resolutions that a model offers. */
export const offeredResolutions = ({ modality, resolutions }: MediaOptions): readonly string[] =>
  resolutions ?? UNSTATED_RESOLUTIONS[modality]

/** The offered durations as words: `4 or 8 seconds`, `1 to 10 seconds`. */
export function durationsText({ durations }: Pick<MediaOptions, 'durations'>): string {
  if (durations === undefined) return `at most ${UNSTATED_MAX_SECONDS} seconds`
  return `${Array.isArray(durations) ? durations.join(' or ') : `${durations.min} to ${durations.max}`} seconds`
}

/** Everything that may be asked of a model, but for durations between the shortest and the longest. */
export function offeredShapes({ modality, durations, resolutions }: MediaOptions): MediaShape[] {
  const lengths =
    durations === undefined ? [undefined] : Array.isArray(durations) ? durations : [durations.min, durations.max]
  // Where a model states no resolutions, a request that names none is sent on without one.
  const sizes = resolutions ?? [undefined, ...UNSTATED_RESOLUTIONS[modality]]
  return lengths.flatMap((duration) => sizes.map((resolution) => ({ duration, resolution })))
}

/** The least that anything costs which a model offers, in credits; null where nothing it offers has a price. */
export function leastMediaCost(options: MediaOptions, price: MediaPrice): number | null {
  const costs = offeredShapes(options).flatMap((shape) => mediaCost(price, shape) ?? [])
  return costs.length > 0 ? Math.min(...costs) : null
}
