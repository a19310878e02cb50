/** What the operator decides about an import: `--rules <file>`, and the worth of a credit. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { creditWorth } from '../../shared/catalogue/versions.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { CommandError } from '../command.ts'
import type { Exact } from './exact.ts'
import { dividedBy, exactOf, floorOf, times, wholeNumber } from './exact.ts'

/** The balance of a user of litellm, which has no wallet: what is left of their budget, or a number of credits each. */
const REST = 'max_budget - spend'

const rulesSchema = z.strictObject({
  creditsPerDollar: z.number().positive().optional(),
  grant: z.union([z.literal(REST), z.int().min(0)], `is "${REST}" or a whole number of credits`).optional(),
})

/** `grant`: of litellm's users; `rest`: what is left of their budget; null: not stated, which grants nothing. */
export type ImportRules = { creditsPerDollar: Exact; grant: 'rest' | bigint | null }

const MICRO = wholeNumber(1_000_000n)

/** The content of a file of rules. @throws CommandError that names the field */
function contentOf(file: string): z.output<typeof rulesSchema> {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CommandError(`--rules: ${file} cannot be read as JSON: ${(error as Error).message}.`)
  }
  const read = rulesSchema.safeParse(content)
  if (read.success) return read.data
  const { path, message } = read.error.issues[0]!
  throw new CommandError(`--rules: ${[...path, message].join(': ')}.`)
}

/**
 * The rules of a file, or the usual ones without a file.
 * @throws CommandError for a file with faults, and if neither it nor the catalogue states what a credit is worth
 */
export async function readRules(file: string | undefined, db: Db): Promise<ImportRules> {
  const { creditsPerDollar, grant } = file === undefined ? {} : contentOf(file)
  const worth = creditsPerDollar === undefined ? await creditWorth(db) : null
  if (creditsPerDollar === undefined && worth === null)
    throw new CommandError(
      'The catalogue does not state "creditMicroUsd": state "creditsPerDollar" in a file of --rules.',
    )
  return {
    creditsPerDollar:
      creditsPerDollar === undefined ? dividedBy(MICRO, exactOf(String(worth))!) : exactOf(String(creditsPerDollar))!,
    grant: grant === undefined ? null : grant === REST ? 'rest' : BigInt(grant),
  }
}

/** The credits of an amount of dollars, rounded down. */
export const creditsOf = (dollars: Exact, { creditsPerDollar }: ImportRules): bigint =>
  floorOf(times(dollars, creditsPerDollar))
