/** key create · list · set · rotate · revoke */
import { z } from 'zod'
import { effectiveLimits } from '../../shared/identity/account-limits.ts'
import { MAX_GRACE_SECONDS, createKey, standingOfKey } from '../../shared/identity/api-keys.ts'
import { keyLimitFields, keyName } from '../../shared/identity/key-fields.ts'
import type { KeyChanges } from '../../shared/identity/key-limits.ts'
import type { ApiKey } from '../../shared/identity/shown-key.ts'
import { allOf } from '../../shared/identity/members.ts'
import { listKeys } from '../../shared/identity/shown-key.ts'
import { readUsualLimits } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { fieldFault } from '../../shared/platform/field-errors.ts'
import { newestGroups, readVersion } from '../../shared/catalogue/versions.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { KeyId } from '../../shared/platform/ids.ts'
import { parseId, publicId } from '../../shared/platform/ids.ts'
import { changeAnyKey, revokeAnyKey, rotateAnyKey } from '../../shared/operators/key-changes.ts'
import type { Command, Options } from '../command.ts'
import { CommandError, accountOf } from '../command.ts'
import { given, number, textOf, wholeNumberOf } from '../fields.ts'

/** API keys of any account. */
export const keyCommands: Command[] = [
  {
    usage: 'key create <email> [name]',
    summary: 'Create an API key and print its secret, once.',
    run: async (db, [email, name = 'created by the operator']) => {
      const user = await accountOf(db, email)
      const key = await createKey(db, user.account_id, textOf('The name', keyName, name)).catch((error: unknown) => {
        throw error instanceof ApiError ? new CommandError(error.message) : error
      })
      return { json: { id: publicId('key', key.id), secret: key.secret }, text: key.secret }
    },
  },
  {
    usage: 'key list <email>',
    summary: 'List the API keys of an account with their limits.',
    run: async (db, [email]) => {
      const keys = await listKeys(db, allOf((await accountOf(db, email)).account_id))
      return { json: { keys }, text: keys.map(lineOf).join('\n') || 'No keys.' }
    },
  },
  {
    usage:
      'key set <id> [--name …] [--models a,b] [--modalities chat,image] [--ips <CIDR>,…] [--expires <ISO>] ' +
      '[--rate N] [--outstanding N] [--tokens-per-minute N] [--budget N --period total|day|week|month]',
    summary: 'Change the limits of an API key. "none" removes a limit; limits that are not named stay.',
    options: [
      'name',
      'models',
      'modalities',
      'ips',
      'expires',
      'rate',
      'outstanding',
      'tokens-per-minute',
      'budget',
      'period',
    ],
    run: async (db, [id], options) => {
      const keyId = keyIdOf(id)
      const changes = changesOf(options)
      await checkRate(db, keyId, changes)
      const key = await changeAnyKey(db, null, keyId, changes)
      if (!key) throw noKey(id)
      return { json: { key }, text: lineOf(key), warnings: await warningsOf(db, changes) }
    },
  },
  {
    usage: 'key rotate <id> [--grace <seconds>]',
    summary:
      'Give an API key a new secret and print it, once. The old one works for --grace seconds more (default: 0).',
    options: ['grace'],
    run: async (db, [id], { grace = '0' }) => {
      const seconds = wholeNumberOf('--grace', grace, [0, MAX_GRACE_SECONDS], 'seconds')
      const rotated = await rotateAnyKey(db, null, keyIdOf(id), seconds)
      if (!rotated) throw noKey(id)
      return { json: { id: rotated.key.id, secret: rotated.secret, key: rotated.key }, text: rotated.secret }
    },
  },
  {
    usage: 'key revoke <id>',
    summary: 'Revoke an API key permanently.',
    run: async (db, [id]) => {
      if (!(await revokeAnyKey(db, null, keyIdOf(id)))) throw noKey(id)
      return { json: { id, revoked: true }, text: 'The key is revoked.' }
    },
  },
]

const noKey = (id = ''): CommandError => new CommandError(`There is no key ${id}, or it was revoked.`)

function keyIdOf(text = ''): KeyId {
  const id = parseId('key', text)
  if (!id) throw new CommandError(`"${text}" is not the id of a key. "key list <email>" shows the ids.`)
  return id
}

/** Warns of models that are not in the catalogue: it changes, and so they are allowed. */
async function warningsOf(db: Db, { models }: KeyChanges): Promise<string[]> {
  if (!models) return []
  const current = await readVersion(db, 'newest')
  const { models: known = [] } = (current?.content ?? {}) as { models?: { id: string; enabled?: boolean }[] }
  const enabled = new Set(known.flatMap(({ id, enabled: isEnabled = true }) => (isEnabled ? [id] : [])))
  return models.filter((id) => !enabled.has(id)).map((id) => `There is no model "${id}" at the moment.`)
}

/** Field → option, for what may be wrong with it. */
const OPTION_OF: Record<string, string> = {
  models: 'models',
  modalities: 'modalities',
  allowedIps: 'ips',
  expiresAt: 'expires',
  rateLimit: 'rate',
  maxOutstanding: 'outstanding',
  tokensPerMinute: 'tokens-per-minute',
  budget: 'budget',
  'budget.period': 'period',
}

function changesOf(options: Options): KeyChanges {
  if (Object.keys(options).length === 0) throw new CommandError('Name at least one thing to change, such as --budget.')
  if (options.budget === undefined && options.period !== undefined) {
    throw new CommandError('--period belongs to --budget.')
  }
  const list = (text: string): string[] => text.split(',').map((one) => one.trim())
  const parsed = z.object(keyLimitFields).safeParse(
    {
      models: given(options.models, list),
      modalities: given(options.modalities, list),
      allowedIps: given(options.ips, list),
      expiresAt: given(options.expires, String),
      rateLimit: given(options.rate, number),
      maxOutstanding: given(options.outstanding, number),
      tokensPerMinute: given(options['tokens-per-minute'], number),
      budget: given(options.budget, (text) => ({ credits: number(text), period: options.period ?? 'total' })),
    },
    { error: fieldFault },
  )
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new CommandError(`--${OPTION_OF[path.join('.')] ?? OPTION_OF[String(path[0])]} ${message}.`)
  }
  return { ...parsed.data, ...(options.name !== undefined && { name: textOf('--name', keyName, options.name) }) }
}

/** @throws CommandError for more requests a minute than the account may send. */
async function checkRate(db: Db, id: KeyId, { rateLimit }: KeyChanges): Promise<void> {
  const standing = rateLimit == null ? null : await standingOfKey(db, id)
  if (rateLimit == null || standing === null) return
  const groups = new Map(Object.entries(await newestGroups(db)))
  const { rateLimit: most } = effectiveLimits(standing, groups, readUsualLimits())
  if (rateLimit > most) throw new CommandError(`--rate must be at most that of the account, ${most}.`)
}

/** A key in one line. */
function lineOf(key: ApiKey): string {
  const { budget } = key
  const facts = {
    revoked: key.revokedAt,
    expires: key.expiresAt,
    models: key.models?.join(','),
    modalities: key.modalities?.join(','),
    ips: key.allowedIps?.join(','),
    rate: key.rateLimit,
    outstanding: key.maxOutstanding,
    'tokens a minute': key.tokensPerMinute,
    budget: budget && `${budget.used} of ${budget.credits} credits (${budget.period})`,
  }
  const limits = Object.entries(facts).flatMap(([name, value]) => (value == null ? [] : [`${name} ${value}`]))
  return [key.id, key.hint, key.name, ...limits].join('  ')
}
