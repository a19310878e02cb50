/**
 * The current time, in steps of half a minute.
 */
import { signal } from '@preact/signals'

const STEP_MS = 30_000

/** Milliseconds since 1970. */
export const clock = signal(Date.now())

setInterval(() => {
  clock.value = Date.now()
}, STEP_MS)
