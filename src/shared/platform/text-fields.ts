/** Fields of one line of text, as every boundary takes them: the console, operators and the command line. */
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
