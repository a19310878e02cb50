/** The arguments and options of commands: texts, numbers and moments, by the rules that the console has for them. */
import { z } from 'zod'
import { MAX_GRANT_CREDITS } from '../shared/ledger/ledger.ts'
import { line } from '../shared/platform/text-fields.ts'
import type { Options } from './command.ts'
import { CommandError } from './command.ts'

/**
 * A text.
 * @param what how it is named, such as `--note` @throws CommandError that explains what is wrong with it.
 */
export function textOf(what: string, rule: z.ZodType<string>, text: string): string {
  const { error } = rule.safeParse(text)
  if (error) throw new CommandError(`${what} ${error.issues[0]!.message}.`)
  return text
}

/** The longest note about credits, in characters. */
const MAX_NOTE = 200

/** The text of `--note` about credits; null if it is empty. @throws CommandError. */
export const noteOf = ({ note = '' }: Options): string | null => textOf('--note', line(MAX_NOTE), note).trim() || null

/** A whole number, in decimal digits. @throws CommandError that names it and its bounds, and the `unit`, if given. */
export function wholeNumberOf(what: string, text: string, [least, most]: [number, number], unit = ''): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw new CommandError(`${what} must be a whole number${unit && ` of ${unit}`} from ${least} to ${most}.`)
}

/** What an option asks for; null for "none", undefined if it is not there. */
export function given<T>(text: string | undefined, read: (text: string) => T): T | null | undefined {
  if (text === undefined) return undefined
  return text === 'none' ? null : read(text)
}

/** Decimal digits as a number; NaN, which no schema takes, for anything else. */
export const number = (text: string): number => (/^\d{1,16}$/.test(text) ? Number(text) : Number.NaN)

/** A line of a list; empty cells at its end leave no space. */
export const rowOf = (...cells: readonly (string | number)[]): string => cells.join('  ').trimEnd()

/** A number of credits. @throws CommandError. */
export const creditsOf = (what: string, text: string): number =>
  wholeNumberOf(what, text, [1, MAX_GRANT_CREDITS], 'credits')

const MOMENT = z.union([z.iso.date(), z.iso.datetime({ offset: true })])

/** A moment: a time with its zone, or a day, which begins at midnight UTC. @throws CommandError that names it. */
export function momentOf(what: string, text: string): Date {
  if (MOMENT.safeParse(text).success) return new Date(text)
  throw new CommandError(`${what} must be a day or a time with its zone, such as 2030-01-31 or 2030-01-31T12:00:00Z.`)
}

/** A moment in the future. @throws CommandError that names it. */
export function futureOf(what: string, text: string): Date {
  const date = momentOf(what, text)
  if (date.getTime() <= Date.now()) throw new CommandError(`${what} must be in the future.`)
  return date
}
