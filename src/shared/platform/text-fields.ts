/**
 * Fields of one line of text, as every boundary takes them: the console, operators and the command line.
 */
import { z } from 'zod'
import { hasAtMost } from './code-points.ts'

/** What one line of text must not have: controls, line ends, lone surrogates, direction marks, invisible characters. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u

/** One line of text, perhaps empty, stored as typed. `max` in code points. */
export const line = (max: number) =>
  z
    .string({ error: `must be a string of at most ${max} characters` })
    .refine((text) => hasAtMost(text, max), `must be at most ${max} characters`)
    .refine((text) => !FORBIDDEN_CHARACTERS.test(text), 'must not have line breaks or other control characters')
    .meta({ override: { maxLength: max } })

/** A non-empty label, stored as typed. `max` in code points. */
export const label = (max: number) =>
  line(max)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ override: { minLength: 1, maxLength: max } })
