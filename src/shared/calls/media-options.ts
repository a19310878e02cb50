/**
 * Which durations and resolutions a media model offers, and what is sent where a request names none. A call costs the
 * same whatever it asks for, so nothing passes that the catalogue does not offer. Pure: the console uses it too.
 */

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
