/** When a failed mail is retried, and when it becomes a dead letter. Pure. */

/** When a mail is tried again, in ms, and when it is given up. */
export type RetryPlan = {
  /** The pause after a failed try, in ms; null makes the mail a dead letter. `tries` counts the failed one. */
  pauseMs: (tries: number, permanent: boolean) => number | null
}

const FIRST_PAUSE_MS = 1000
const GROWTH = 3
const LONGEST_PAUSE_MS = 5 * 60_000

/** About four hours: a mail server that is repaired within that time loses nothing. */
const TRIES = 54

/**
 * Tries if the server permanently refuses this recipient: about 40 s. Not a single one, because a relay
 * that is configured wrongly, or greylists, answers the same.
 */
const PERMANENT_TRIES = 5

/** 1, 3, 9, 27, 81, 243 s, then every 5 minutes. */
export const RETRY_PLAN: RetryPlan = {
  pauseMs: (tries, permanent) =>
    tries >= (permanent ? PERMANENT_TRIES : TRIES)
      ? null
      : Math.min(FIRST_PAUSE_MS * GROWTH ** (tries - 1), LONGEST_PAUSE_MS),
}
