/** What a command of the operator's command line is. */
import type { Db } from '../shared/platform/postgres/db.ts'
import type { Id } from '../shared/platform/ids.ts'
import { parseId } from '../shared/platform/ids.ts'
import { findOwner, findUserByEmail } from '../shared/identity/users.ts'
import type { UserRow } from '../shared/identity/users.ts'
import { parseEmail } from '../shared/terms/emails.ts'

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
  /** As in the help: `credits grant <email> <amount>`. In place of an `<email>`, the id of an account works too. */
  usage: string
  summary: string
  /** Names of its options in addition to `--json`. */
  options?: readonly string[]
  /** Names of its options that take no value; one that is given reads 'yes'. */
  flags?: readonly string[]
  run: (db: Db, args: string[], options: Options) => Promise<Report<Json>>
}

/** The id in an argument. @throws CommandError for anything else. */
export function idOf<Kind extends 'payment' | 'webhook' | 'delivery'>(kind: Kind, text = ''): Id<Kind> {
  const id = parseId(kind, text)
  if (!id) throw new CommandError(`${text} is not the id of a ${kind}.`)
  return id
}

/**
 * The account that an argument `<email>` means: that of an id, with its owner, else a person's own, by their address.
 * @throws CommandError if no such account exists.
 */
export async function accountOf(db: Db, named: string | undefined): Promise<UserRow> {
  const id = parseId('account', named ?? '')
  const owned = id && (await findOwner(db, id))
  if (owned) return owned
  if (id) throw new CommandError(`There is no account with the id ${named}.`)
  const email = parseEmail(named)
  const user = email === null ? null : await findUserByEmail(db, email)
  if (!user) throw new CommandError(`There is no account with the address ${named}.`)
  return user
}

/** As `accountOf`, of somebody who can sign in. @throws CommandError also for an account that nobody has claimed. */
export async function claimedAccountOf(db: Db, named: string | undefined): Promise<UserRow> {
  const user = await accountOf(db, named)
  if (user.unclaimed) throw new CommandError('Nobody has claimed this account yet: use account claim.')
  return user
}
