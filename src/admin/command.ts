/**
 * What a command of the operator's command line is.
 */
import type { Db } from '../shared/platform/postgres/db.ts'
import { ownerOf } from '../shared/accounts/members.ts'
import { parseId } from '../shared/platform/ids.ts'
import { findMember, findUserByEmail } from '../shared/users/users.ts'
import type { UserRow } from '../shared/users/users.ts'
import { parseEmail } from '../shared/users/emails.ts'

/** A mistake of the operator: one sentence on stderr, exit code 1. */
export class CommandError extends Error {}

/** Options of the command line, by name. */
export type Options = Record<string, string | undefined>

/**
 * What a command did: `json` for `--json`, `text` for people. `complaint` is a sentence for stderr, and makes the
 * exit code 1; `warnings` are sentences for stderr that do not.
 */
export type Report<Json = Record<string, unknown>> = {
  json: Json
  text: string
  complaint?: string
  warnings?: string[]
  /** Printed instead, each as a line of JSON, with `--json` and without. */
  lines?: AsyncIterable<object>
}

/** A command of `npm run admin`: how it is called, what it does, and what it prints. */
export type Command<Json = Record<string, unknown>> = {
  /** As in the help: `credits grant <email> <amount>`. */
  usage: string
  summary: string
  /** Names of its options beside `--json`. */
  options?: readonly string[]
  /** Names of its options that take no value; one that is given reads 'yes'. */
  flags?: readonly string[]
  run: (db: Db, args: string[], options: Options) => Promise<Report<Json>>
}

/**
 * The user of an address with the account that they act for, or the owner of an account's id. @throws CommandError
 * where there is none.
 */
export async function accountOf(db: Db, email: string | undefined): Promise<UserRow> {
  const accountId = parseId('account', email ?? '')
  const userId = accountId && (await ownerOf(db, accountId))
  const owner = accountId && userId && (await findMember(db, { userId, accountId }))
  if (owner) return owner
  const parsed = parseEmail(email)
  const user = parsed === null ? null : await findUserByEmail(db, parsed)
  if (!user) throw new CommandError(`There is no account with the ${accountId ? 'id' : 'address'} ${email}.`)
  return user
}
