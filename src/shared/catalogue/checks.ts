/** Checks between the fields of one object. */
import type { z } from 'zod'

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
