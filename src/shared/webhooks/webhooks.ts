/** Webhooks: addresses at which an account, or the operators (`null`), get events. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, WebhookId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { disable, enable } from './deliveries.ts'
import type { SecretBox } from './secrets.ts'
import { newSigningSecret, shownSecret } from './secrets.ts'
import type { DisabledReason } from './types.ts'

/** A webhook as its owner sees it. */
export type Webhook = {
  id: string
  url: string
  types: string[]
  createdAt: string
  disabledAt: string | null
  disabledReason: DisabledReason | null
  /** The first failed try since the last success; null: the last try succeeded. */
  failingSince: string | null
}

/** Whose webhooks: an account's, or the operators' (null). */
export type Owner = AccountId | null

type WebhookRow = {
  id: WebhookId
  url: string
  types: string[]
  created_at: Date
  disabled_at: Date | null
  disabled_reason: DisabledReason | null
  failing_since: Date | null
}

const COLUMNS = ['id', 'url', 'types', 'created_at', 'disabled_at', 'disabled_reason', 'failing_since'] as const

const shown = (row: WebhookRow): Webhook => ({
  id: publicId('webhook', row.id),
  url: row.url,
  types: row.types,
  createdAt: row.created_at.toISOString(),
  disabledAt: row.disabled_at?.toISOString() ?? null,
  disabledReason: row.disabled_reason,
  failingSince: row.failing_since?.toISOString() ?? null,
})

const owned = (db: Db | Trx, owner: Owner) => db('webhooks').where({ account_id: owner }).whereNotNull('url')

/** The webhooks of an owner, oldest first. */
export const listWebhooks = async (db: Db, owner: Owner): Promise<Webhook[]> =>
  (await owned(db, owner).orderBy('id').select<WebhookRow[]>(COLUMNS)).map(shown)

/** One webhook; null if the owner has none of that id. */
export async function findWebhook(db: Db | Trx, owner: Owner, id: WebhookId): Promise<Webhook | null> {
  const row = await owned(db, owner).where({ id }).first<WebhookRow | undefined>(COLUMNS)
  return row ? shown(row) : null
}

/** The most webhooks that an account, or the operators, may have. */
export const MAX_WEBHOOKS = 10

/** A webhook with its secret, which is shown this once. */
export type NewWebhook = { webhook: Webhook; secret: string }

/** Makes a webhook. @throws ApiError too_many_webhooks; unauthorized if the account was deleted */
export async function createWebhook(
  db: Db,
  box: SecretBox,
  owner: Owner,
  { url, types }: { url: string; types: readonly string[] },
): Promise<NewWebhook> {
  const id = newId('webhook')
  const secret = newSigningSecret()
  return db.transaction(async (trx) => {
    await lockOwner(trx, owner)
    const { count } = (await owned(trx, owner).count({ count: '*' }).first<{ count: number }>())!
    if (Number(count) >= MAX_WEBHOOKS) throw new ApiError('too_many_webhooks')
    await trx('webhooks').insert({ id, account_id: owner, url, types: [...types], secret: box.seal(id, secret) })
    await mark(trx, owner)
    return { webhook: (await findWebhook(trx, owner, id))!, secret: shownSecret(secret) }
  })
}

/** Holds the account's row, which every statement that writes events holds too. */
async function lockOwner(trx: Trx, owner: Owner): Promise<void> {
  if (owner === null) {
    await trx.raw(`SELECT pg_advisory_xact_lock(hashtext('webhooks of operators'))`)
    return
  }
  const held = await trx('accounts').where({ id: owner }).whereNull('deleted_at').forNoKeyUpdate().first('id')
  if (!held) throw new ApiError('unauthorized')
}

/** Marks whether an account has webhooks: statements of the money read them only then. */
async function mark(trx: Trx, owner: Owner): Promise<void> {
  if (owner === null) return
  await trx('accounts')
    .where({ id: owner })
    .update({ has_webhooks: trx.raw('EXISTS (SELECT FROM webhooks w WHERE w.account_id = accounts.id)') })
}

/** What can be changed of a webhook. */
export type WebhookChanges = {
  url?: string | undefined
  types?: readonly string[] | undefined
  disabled?: boolean | undefined
}

/** Changes a webhook. @returns null if the owner has none of that id */
export async function changeWebhook(
  db: Db,
  owner: Owner,
  id: WebhookId,
  { url, types, disabled }: WebhookChanges,
): Promise<Webhook | null> {
  return db.transaction(async (trx) => {
    const found = await owned(trx, owner).where({ id }).forNoKeyUpdate().first<WebhookRow | undefined>(COLUMNS)
    if (!found) return null
    const fields = { ...(url !== undefined && { url }), ...(types !== undefined && { types: [...types] }) }
    if (Object.keys(fields).length > 0) await trx('webhooks').where({ id }).update(fields)
    if (disabled === true && found.disabled_at === null) await disable(trx, id, 'owner')
    if (disabled === false && found.disabled_at !== null) await enable(trx, id)
    return findWebhook(trx, owner, id)
  })
}

/** Deletes a webhook, and its events. @returns false if the owner has none of that id */
export const deleteWebhook = (db: Db, owner: Owner, id: WebhookId): Promise<boolean> =>
  db.transaction(async (trx) => {
    await lockOwner(trx, owner)
    const deleted = await owned(trx, owner).where({ id }).delete()
    await mark(trx, owner)
    return deleted === 1
  })

/** How long the secret before a rotation signs next to the new one, in hours (docs/webhooks.md#secrets). */
const ROTATION_HOURS = 24

/** Gives a webhook another secret. Both sign for a day. @returns null if the owner has none of that id */
export async function rotateWebhook(
  db: Db,
  box: SecretBox,
  owner: Owner,
  id: WebhookId | 'callback',
): Promise<string | null> {
  const secret = newSigningSecret()
  return db.transaction(async (trx) => {
    const found = await (id === 'callback' ? callbackOf(trx, owner) : owned(trx, owner).where({ id }))
      .forNoKeyUpdate()
      .first<{ id: WebhookId } | undefined>('id')
    if (!found) return null
    await trx('webhooks')
      .where({ id: found.id })
      .update({
        previous_secret: trx.ref('secret'),
        previous_until: trx.raw('now() + make_interval(hours => ?)', [ROTATION_HOURS]),
        secret: box.seal(found.id, secret),
        is_shown: true,
      })
    return shownSecret(secret)
  })
}

const callbackOf = (db: Db | Trx, owner: Owner) => db('webhooks').where({ account_id: owner }).whereNull('url')

type CallbackRow = { id: WebhookId; secret: Buffer; is_shown: boolean }

/** Makes the callback secret of an account, if it has none, and holds its row. */
async function heldCallback(trx: Trx, box: SecretBox, account: AccountId): Promise<CallbackRow> {
  await lockOwner(trx, account)
  const found = await callbackOf(trx, account).first<CallbackRow | undefined>('id', 'secret', 'is_shown')
  if (found) return found
  const id = newId('webhook')
  const row = { id, secret: box.seal(id, newSigningSecret()), is_shown: false }
  await trx('webhooks').insert({ ...row, account_id: account, types: [] })
  await mark(trx, account)
  return row
}

/** Makes the secret that signs the callbacks of calls, if the account has none. */
export const makeCallbackSecret = async (db: Db, box: SecretBox, account: AccountId): Promise<void> => {
  await db.transaction((trx) => heldCallback(trx, box, account))
}

/**
 * The callback secret of an account, made if there is none. It is shown once, no matter who made it.
 * @returns null if it was shown before, or cannot be read any more
 */
export const showCallbackSecret = (db: Db, box: SecretBox, account: AccountId): Promise<string | null> =>
  db.transaction(async (trx) => {
    const { id, secret, is_shown: isShown } = await heldCallback(trx, box, account)
    const opened = isShown ? null : box.open(id, secret)
    if (opened === null) return null
    await trx('webhooks').where({ id }).update({ is_shown: true })
    return shownSecret(opened)
  })

/** Whether an account has the secret that signs the callbacks of calls. */
export const hasCallbackSecret = async (db: Db, account: AccountId): Promise<boolean> =>
  (await callbackOf(db, account).first('id')) !== undefined

/** Encrypts secrets anew that rest under the APP_SECRET before. @returns how many */
export async function resealSecrets(db: Db, box: SecretBox): Promise<number> {
  const rows = await db('webhooks').select<{ id: WebhookId; secret: Buffer; previous_secret: Buffer | null }[]>(
    'id',
    'secret',
    'previous_secret',
  )
  let resealed = 0
  for (const { id, secret, previous_secret: previous } of rows) {
    const opened = box.isCurrent(id, secret) ? null : box.open(id, secret)
    if (opened === null) continue
    const before = previous && box.open(id, previous)
    resealed += await db('webhooks')
      .where({ id, secret })
      .update({ secret: box.seal(id, opened), ...(before && { previous_secret: box.seal(id, before) }) })
  }
  return resealed
}
