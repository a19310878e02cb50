/** account create · show · list · set · suspend · activate · group · role · password-reset */
import { z } from 'zod'
import { readAddress } from '../../shared/platform/config/config.ts'
import type { LimitChanges, OwnLimits } from '../../shared/identity/account-limits.ts'
import { ownLimits, accountLimitFields } from '../../shared/identity/account-limits.ts'
import type { ImportedFrom } from '../../shared/identity/import-origins.ts'
import { importedFrom } from '../../shared/identity/import-origins.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { fieldFault } from '../../shared/platform/field-errors.ts'
import { newId, publicId } from '../../shared/platform/ids.ts'
import { parseEmail } from '../../shared/terms/emails.ts'
import { checkNewPassword, hashPassword } from '../../shared/identity/passwords.ts'
import type { UserRow } from '../../shared/identity/users.ts'
import { presentUser } from '../../shared/identity/users.ts'
import { NO_GROUP } from '../../shared/catalogue/groups.ts'
import { SORTS, STANDINGS, findAccounts } from '../../shared/operators/accounts.ts'
import {
  makeAccount,
  sendPasswordReset,
  setAccountGroup,
  setAccountLimits,
  setAccountRole,
  setAccountStatus,
} from '../../shared/operators/changes.ts'
import { makeClaimLink } from '../../shared/operators/claim-links.ts'
import type { Command, Options, Report } from '../command.ts'
import { CommandError, accountOf, claimedAccountOf } from '../command.ts'
import { given, number, rowOf } from '../fields.ts'
import { passwordFrom, warnOfArgument } from '../passwords.ts'

/** The most accounts that are listed. */
const LISTED = 200

/** An account in `--json`: the user and the status; of an organisation also its kind and name. */
const described = (user: UserRow) => ({
  ...presentUser(user),
  ...(user.kind === 'organisation' && { kind: user.kind, name: user.account_name }),
  status: user.status,
})

function report(user: UserRow, sentence: string): Report {
  const facts = [
    ...(user.kind === 'organisation' ? [`organisation "${user.account_name}"`] : []),
    user.status,
    ...(user.role === 'admin' ? ['operator'] : []),
    ...(user.group_name === null ? [] : [`group ${user.group_name}`]),
    `${user.credits} credits`,
    ...(user.debt > 0 ? [`debt of ${user.debt} credits`] : []),
    user.email_verified_at ? 'verified' : 'not verified',
    `since ${user.created_at.toISOString()}`,
  ]
  return {
    json: {
      ...described(user),
      ...(user.group_name !== null && { group: user.group_name }),
      ...(user.debt > 0 && { debt: user.debt }),
    },
    text: `${sentence}\n${user.email}: ${facts.join(', ')}`,
  }
}

/** Listing, creating and changing accounts. */
export const accountCommands: Command[] = [
  {
    usage: 'account create <email> [password] [--verified]',
    summary:
      'Create an account. Asks for the password, or reads it from the first line of standard input; --verified: the ' +
      'address needs no proof.',
    flags: ['verified'],
    run: async (db, [address, password], { verified }) => {
      const email = parseEmail(address)
      if (email === null) throw new CommandError(`${address} is not a valid e-mail address.`)
      const chosen = checked(await passwordFrom(password, `Password of ${email}`))
      const made = { id: newId('user'), accountId: newId('account'), email, passwordHash: await hashPassword(chosen) }
      const user = await makeAccount(db, null, made, verified !== undefined)
      if (!user) throw new CommandError(`An account with the address ${email} already exists.`)
      warnOfArgument(password)
      return report(user, 'Account created.')
    },
  },
  {
    usage: 'account show <email>',
    summary: 'Show an account and its balance.',
    run: async (db, [email]) => {
      const user = await accountOf(db, email)
      const limits = (await ownLimits(db, user.account_id))!
      const { json, text } = withOrigin(report(user, 'Account:'), await importedFrom(db, user.account_id))
      if (Object.values(limits).every((limit) => limit === null)) return { json, text }
      return { json: { ...json, limits }, text: `${text}\n${limitLines(limits)}` }
    },
  },
  {
    usage: `account list [--search <text>] [--standing ${STANDINGS.join('|')}] [--sort ${SORTS.join('|')}]`,
    summary: `List at most ${LISTED} accounts, newest first; --search by part of the address or the name.`,
    options: ['search', 'standing', 'sort'],
    run: async (db, _args, { search = '', standing, sort = 'newest' }) => {
      const order = SORTS.find((one) => one === sort)
      if (!order) throw new CommandError(`--sort must be one of ${SORTS.join(', ')}.`)
      const only = STANDINGS.find((one) => one === standing)
      if (standing !== undefined && !only) throw new CommandError(`--standing must be one of ${STANDINGS.join(', ')}.`)
      const { accounts } = await findAccounts(db, { text: search, standing: only, sort: order }, LISTED)
      const lines = accounts.map((one) =>
        rowOf(
          one.createdAt,
          one.id,
          one.kind,
          one.status,
          one.role,
          one.group ?? '-',
          `${one.credits} credits`,
          one.email,
          one.name,
        ),
      )
      return { json: { accounts }, text: lines.length === 0 ? 'No accounts found.' : lines.join('\n') }
    },
  },
  {
    usage: 'account password-reset <email>',
    summary: 'Mail the link that sets a new password.',
    run: async (db, [email]) => {
      const user = await claimedAccountOf(db, email)
      const mailId = publicId('mail', await sendPasswordReset(db, null, user))
      return { json: { mailId }, text: `The link will be mailed to ${user.email}.` }
    },
  },
  {
    usage: 'account claim <acc_…>',
    summary:
      'Print a link by which the owner of an imported account without a login chooses an address and a password: ' +
      'once, within 7 days. It replaces the link before.',
    run: async (db, [id]) => {
      const user = await accountOf(db, id)
      const token = await makeClaimLink(db, null, user)
      if (token === null) throw new CommandError('The owner of this account has a login.')
      const link = `${readAddress().BASE_URL}/claim#token=${token}`
      return {
        json: { link },
        text: `${link}\nIt claims ${publicId('account', user.account_id)}, once, within 7 days.`,
      }
    },
  },
  {
    usage: 'account set <email> [--rate N] [--outstanding N] [--tokens-per-minute N]',
    summary:
      'Set limits of an account: requests a minute, calls at once, tokens a minute. "none" lifts its own; those ' +
      'that are not named stay.',
    options: ['rate', 'outstanding', 'tokens-per-minute'],
    run: async (db, [email], options) => {
      const user = await accountOf(db, email)
      const limits = await setAccountLimits(db, null, user.account_id, limitsFrom(options))
      if (!limits) throw new CommandError('The account was deleted.')
      const { json, text } = report(user, 'The limits are set.')
      return { json: { ...json, limits }, text: `${text}\n${limitLines(limits)}` }
    },
  },
  status('suspend', 'suspended', 'Suspend an account: its sessions end and its keys are refused with 403.'),
  status('activate', 'active', 'Activate a suspended account.'),
  {
    usage: `account group <email> <group>|${NO_GROUP}`,
    summary: 'Put an account into a group of the catalogue, with the prices, models and limits of that, or into none.',
    run: async (db, [email, group = '']) => {
      const user = await accountOf(db, email)
      const name = group === NO_GROUP ? null : group
      const is = await setAccountGroup(db, null, user.account_id, name)
      if (is === 'no_group') throw new CommandError(`The catalogue has no group "${group}".`)
      if (is === 'no_account') throw new CommandError('The account was deleted.')
      return report(
        { ...user, group_name: name },
        name === null ? 'The account is in no group.' : `The group is now ${name}.`,
      )
    },
  },
  {
    usage: 'account role <email> admin|user',
    summary: 'Make somebody an operator, or take the role away. Operators see the operator pages of the console.',
    run: async (db, [email, role]) => {
      if (role !== 'admin' && role !== 'user') throw new CommandError('The role must be admin or user.')
      const user = await claimedAccountOf(db, email)
      await setAccountRole(db, null, user.account_id, role)
      return { ...report({ ...user, role }, `The role is now ${role}.`), json: { ...described(user), role } }
    },
  },
]

/** Field → option. */
const OPTION_OF = { rateLimit: 'rate', maxOutstanding: 'outstanding', tokensPerMinute: 'tokens-per-minute' } as const

function limitsFrom(options: Options): LimitChanges {
  if (Object.keys(options).length === 0) throw new CommandError('Name at least one limit to set, such as --rate.')
  const parsed = z
    .object(accountLimitFields)
    .safeParse(
      Object.fromEntries(Object.entries(OPTION_OF).map(([field, option]) => [field, given(options[option], number)])),
      { error: fieldFault },
    )
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw new CommandError(`--${OPTION_OF[path[0] as keyof typeof OPTION_OF]} ${message}.`)
}

const withOrigin = ({ json, text }: Report, from: ImportedFrom | null): Report =>
  from === null
    ? { json, text }
    : { json: { ...json, importedFrom: from }, text: `${text}\nimported from ${from.source}: ${from.theirId ?? '-'}` }

const limitLines = (limits: OwnLimits): string =>
  [
    `requests a minute: ${limits.rateLimit ?? 'as usual'}`,
    `calls at once: ${limits.maxOutstanding ?? 'as usual'}`,
    `tokens a minute: ${limits.tokensPerMinute ?? 'any number'}`,
  ].join(', ')

function status(verb: string, to: 'active' | 'suspended', summary: string): Command {
  return {
    usage: `account ${verb} <email>`,
    summary,
    run: async (db, [email]) => {
      const user = await accountOf(db, email)
      if (!(await setAccountStatus(db, null, user.account_id, to))) throw new CommandError('The account was deleted.')
      return report({ ...user, status: to }, `The account is now ${to}.`)
    },
  }
}

function checked(password: string | undefined): string {
  try {
    return checkNewPassword(password)
  } catch (error) {
    if (error instanceof ApiError) throw new CommandError(error.message)
    throw error
  }
}
