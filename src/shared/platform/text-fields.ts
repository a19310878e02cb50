/** Fields of one line of text, as every boundary takes them: the console, operators and the command line. */
import { z } from 'zod'

/** The code points of a text. It builds a list of them: of a text that a client sent, call `hasAtMost` first. */
export const codePoints = (text: string): number => Array.from(text).length

/**
 * Whether a text has at most `most` code points. A code point has one or two UTF-16 units, so that only a text whose
 * length does not decide it is counted.
 */
export const hasAtMost = (text: string, most: number): boolean =>
  text.length <= most || (text.length <= 2 * most && codePoints(text) <= most)

/** What one line of text must not have: controls, line ends, lone surrogates, direction marks, invisible characters. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u

/** One line of text, perhaps empty, stored as typed. `max` in code points. */
export const line = (max: number) =>
  z
    .string({ error: `must be a string of at most ${max} characters` })
    .refine((text) => hasAtMost(text, max), `must be at most ${max} characters`)
    .refine((text) => !FORBIDDEN_CHARACTERS.test(text), 'must not have line breaks or other control characters')
    .meta({ override: { maxLength: max } })

/** Characters that show nothing. Only what joins the parts of one emoji is wanted in a name. */
const INVISIBLE = /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D)[\p{Cf}\u034F\u115F\u1160\u3164]/u

/** What a mail program may show as a link: schemes, e-mail addresses, domains and IPv4 addresses. */
const ADDRESS = /:\/|\/\/|\b(?:mailto|tel|sms):|\S@\S|[\p{L}\p{M}\p{N}-][.。]\p{L}[\p{L}\p{M}\p{N}-]|(?:\d+\.){3}\d/iu

/** A name that others see, also in our mails: one line without addresses, perhaps empty. `max` in code points. */
export const shownName = (max: number) =>
  line(max)
    .refine((text) => !INVISIBLE.test(text), 'must not have invisible characters')
    .refine((text) => !ADDRESS.test(text.normalize('NFKC')), 'must not contain an address, such as a domain or a URL')

/** A non-empty label, stored as typed. `max` in code points. */
export const label = (max: number) =>
  line(max)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ override: { minLength: 1, maxLength: max } })

/** Whether Postgres can store a text: it takes neither NUL nor a lone surrogate. Pure. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')
