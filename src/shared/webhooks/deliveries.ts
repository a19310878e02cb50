/**
 * The outbox of events. A delivery is a row, written in the transaction of its cause by `tell_webhooks` and
 * `tell_of_calls` (`sql/`). The queue only points a worker to a webhook that has deliveries due.
 *
 * queued → sending → delivered; back to queued after a try that failed; failed after the last one; held while its
 * webhook is disabled. `next_try_at` is when a row may be taken, and while it is being sent, when its worker counts as
 * dead.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { mailOwner } from '../identity/owner-mail.ts'
import type { Answered, FailureNote, ShownTry } from './tries.ts'
import { listTries, recordTry } from './tries.ts'
import type { DisabledReason } from './types.ts'
import { TEST_TYPE } from './types.ts'

/** How far a delivery is. */
export const DELIVERY_STATUSES = ['queued', 'sending', 'delivered', 'failed', 'held'] as const
/** How far a delivery is. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** A delivery that this worker has claimed. `tries` includes this one. */
export type ClaimedDelivery = {
  id: DeliveryId
  webhookId: WebhookId
  eventId: EventId
  type: string
  url: string
  isCallback: boolean
  body: string
  tries: number
  secret: Buffer
  /** The secret before, while it still signs. */
  previousSecret: Buffer | null
}

/** Claims the delivery of a webhook that has been due longest; null if none is due. */
export async function claimDelivery(
  db: Db,
  webhookId: WebhookId,
  leaseSeconds: number,
): Promise<ClaimedDelivery | null> {
  const { rows } = await db.raw<{ rows: ClaimedDelivery[] }>(
    `
    UPDATE webhook_deliveries d
    SET status = 'sending', tries = d.tries + 1, next_try_at = now() + make_interval(secs => :leaseSeconds)
    FROM webhooks w
    WHERE w.id = d.webhook_id AND w.disabled_at IS NULL AND d.id = (
      SELECT due.id FROM webhook_deliveries due
      WHERE due.webhook_id = :webhookId AND due.status IN ('queued', 'sending') AND due.next_try_at <= now()
      ORDER BY due.next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING d.id, d.webhook_id AS "webhookId", d.event_id AS "eventId", d.type, coalesce(d.url, w.url) AS url,
      d.url IS NOT NULL AS "isCallback", d.body, d.tries, w.secret,
      CASE WHEN w.previous_until > now() THEN w.previous_secret END AS "previousSecret"`,
    { webhookId, leaseSeconds },
  )
  return rows[0] ?? null
}

/**
 * Records that an event was delivered. Not guarded by the try: any try may report success. Only an event delivered in
 * the slow lane leads out of it, and no test event, which its account sends whenever it likes (docs/webhooks.md#lanes).
 */
export async function finishDelivery(
  db: Db,
  { id, webhookId, type }: Pick<ClaimedDelivery, 'id' | 'webhookId' | 'type'>,
  { status, ms, isSlow }: Answered & { isSlow: boolean },
): Promise<void> {
  await db.transaction(async (trx) => {
    await trx('webhooks')
      .where({ id: webhookId })
      .whereRaw('(is_slow OR failing_since IS NOT NULL)')
      .update({ failing_since: null, ...(isSlow && type !== TEST_TYPE && { is_slow: false }) })
    await trx('webhook_deliveries')
      .where({ id })
      .whereNull('finished_at')
      .update({ status: 'delivered', answer_status: status, answer_ms: ms, note: null, finished_at: trx.fn.now() })
    await recordTry(trx, id, { status, ms, note: null })
  })
}

/** How a try failed. `pauseMs` is the pause before the next one; null gives the delivery up. */
export type FailedTry = Answered & { note: FailureNote; pauseMs: number | null; isGone: boolean }

/** After how long without one success a webhook is disabled, in days (docs/webhooks.md#disabled). */
const FAILING_DAYS = 5

type Failing = { account_id: AccountId | null; url: string; disabled_at: Date | null; isFailing: boolean }

/**
 * Records a failed try: the webhook, or all callbacks of the account, are in the slow lane from then on, whatever has
 * become of the delivery meanwhile. Unless it was taken over or is held, the webhook is also disabled where its
 * receiver is gone or has failed for five days.
 * @returns why the webhook was disabled by this; null if it was not
 */
export async function failDelivery(
  db: Db,
  { id, webhookId, tries, isCallback }: ClaimedDelivery,
  { status, ms, start, note, pauseMs, isGone }: FailedTry,
): Promise<DisabledReason | null> {
  return db.transaction(async (trx) => {
    const webhook = await trx('webhooks')
      .where({ id: webhookId })
      .forNoKeyUpdate()
      .first<Failing | undefined>(
        'account_id',
        'url',
        'disabled_at',
        trx.raw(`coalesce(failing_since < now() - make_interval(days => ?), false) AS "isFailing"`, [FAILING_DAYS]),
      )
    if (!webhook) return null
    await trx('webhooks').where({ id: webhookId, is_slow: false }).update({ is_slow: true })
    const next =
      pauseMs === null
        ? { status: 'failed', finished_at: trx.fn.now() }
        : { status: 'queued', next_try_at: trx.raw(`now() + ? * interval '1 millisecond'`, [pauseMs]) }
    const changed = await trx('webhook_deliveries')
      .where({ id, tries, status: 'sending' })
      .update({ ...next, answer_status: status, answer_ms: ms, note })
    await recordTry(trx, id, { status, ms, start, note })
    if (changed === 0 || isCallback || webhook.disabled_at !== null) return null
    await trx('webhooks').where({ id: webhookId }).whereNull('failing_since').update({ failing_since: trx.fn.now() })
    const reason = isGone ? 'gone' : webhook.isFailing ? 'failing' : null
    if (reason === null) return null
    await disable(trx, webhookId, reason)
    const { account_id: account, url } = webhook
    if (account !== null) await mailOwner(trx, account, 'webhook_off', { url, reason })
    return reason
  })
}

/** Disables a webhook, and keeps what waits until it is enabled again. */
export async function disable(trx: Trx, id: WebhookId, reason: DisabledReason): Promise<void> {
  await trx('webhooks').where({ id }).update({ disabled_at: trx.fn.now(), disabled_reason: reason })
  await trx('webhook_deliveries')
    .where({ webhook_id: id })
    .whereIn('status', ['queued', 'sending'])
    .update({ status: 'held' })
}

/** Enables a webhook: what waited is due at once, with a full set of tries. The webhook stays in its lane. */
export async function enable(trx: Trx, id: WebhookId): Promise<void> {
  await trx('webhooks').where({ id }).update({ disabled_at: null, disabled_reason: null, failing_since: null })
  await trx('webhook_deliveries')
    .where({ webhook_id: id, status: 'held' })
    .update({ status: 'queued', tries: 0, next_try_at: trx.fn.now() })
}

/** A webhook with deliveries due, whose it is (null: the operators'), and whether it is in the slow lane. */
export type DueWebhook = { id: WebhookId; accountId: AccountId | null; isSlow: boolean }

/** Webhooks that have deliveries due: operators' first, the slow lane last. One index scan for each webhook. */
export async function dueWebhooks(db: Db, limit: number, id?: WebhookId): Promise<DueWebhook[]> {
  const { rows } = await db.raw<{ rows: DueWebhook[] }>(
    `
    SELECT w.id, w.account_id AS "accountId", w.is_slow AS "isSlow" FROM webhooks w
    WHERE w.disabled_at IS NULL AND (:id::uuid IS NULL OR w.id = :id::uuid) AND EXISTS (
      SELECT FROM webhook_deliveries d
      WHERE d.webhook_id = w.id AND d.status IN ('queued', 'sending') AND d.next_try_at <= now())
    ORDER BY w.account_id IS NOT NULL, w.is_slow, random() LIMIT :limit`,
    { limit, id: id ?? null },
  )
  return rows
}

/** A delivery as its owner sees it. */
export type ShownDelivery = {
  id: string
  event: string
  type: string
  url: string | null
  status: DeliveryStatus
  tries: number
  answerStatus: number | null
  answerMs: number | null
  note: FailureNote | null
  createdAt: string
  nextTryAt: string | null
  finishedAt: string | null
}

type DeliveryRow = {
  id: DeliveryId
  event_id: EventId
  type: string
  url: string | null
  status: DeliveryStatus
  tries: number
  answer_status: number | null
  answer_ms: number | null
  note: FailureNote | null
  created_at: Date
  next_try_at: Date
  finished_at: Date | null
}

/** At most `limit` deliveries of a webhook before `before`, newest first. */
export async function listDeliveries(
  db: Db,
  webhookId: WebhookId,
  limit: number,
  before: DeliveryId | null,
): Promise<ShownDelivery[]> {
  const rows = await db('webhook_deliveries')
    .where({ webhook_id: webhookId })
    .modify((query) => {
      if (before) void query.where('id', '<', before)
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .select<DeliveryRow[]>('*')
  return rows.map(presentDelivery)
}

/** What the owner of a webhook sees of a delivery in a list. */
const presentDelivery = (row: DeliveryRow): ShownDelivery => ({
  id: publicId('delivery', row.id),
  event: publicId('event', row.event_id),
  type: row.type,
  url: row.url,
  status: row.status,
  tries: row.tries,
  answerStatus: row.answer_status,
  answerMs: row.answer_ms,
  note: row.note,
  createdAt: row.created_at.toISOString(),
  nextTryAt: row.status === 'queued' ? row.next_try_at.toISOString() : null,
  finishedAt: row.finished_at?.toISOString() ?? null,
})

/** A delivery with where and what was sent, and its tries, the newest first. */
export type DeliveryDetails = { delivery: ShownDelivery; url: string; body: string; tries: ShownTry[] }

/** The details of a delivery; null if the webhook has none of that id. */
export async function findDelivery(db: Db, webhookId: WebhookId, id: DeliveryId): Promise<DeliveryDetails | null> {
  const row = await db('webhook_deliveries as d')
    .join('webhooks as w', 'w.id', 'd.webhook_id')
    .where({ 'd.id': id, 'd.webhook_id': webhookId })
    .first<(DeliveryRow & { body: string; sent_to: string }) | undefined>(
      'd.*',
      db.raw('coalesce(d.url, w.url) AS sent_to'),
    )
  if (!row) return null
  return { delivery: presentDelivery(row), url: row.sent_to, body: row.body, tries: await listTries(db, id) }
}

/** Sends an event again: the same id and bytes, with a full set of tries. @returns false if there is no such event */
export async function redeliver(db: Db | Trx, webhookId: WebhookId, id: DeliveryId): Promise<boolean> {
  const changed = await db('webhook_deliveries')
    .where({ id, webhook_id: webhookId })
    .whereNot({ status: 'held' })
    .update({ status: 'queued', tries: 0, next_try_at: db.fn.now(), finished_at: null })
  return changed === 1
}

/**
 * Writes an event for one webhook, even if it does not want its type. @returns null if the webhook was deleted
 * meanwhile
 */
export async function emitTo(
  db: Db | Trx,
  webhookId: WebhookId,
  type: string,
  data: object,
): Promise<DeliveryId | null> {
  const id = newId('delivery')
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data })
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body)
     SELECT ?, w.id, ?, ?, ? FROM webhooks w WHERE w.id = ? FOR KEY SHARE`,
    [id, newId('event'), type, body, webhookId],
  )
  return rowCount === 1 ? id : null
}

/** Writes events of grants that end within seven days, each once: a batch. @returns how many */
export async function emitGrantEvents(db: Db, batch: number): Promise<number> {
  const { rows } = await db.raw<{ rows: { told: number }[] }>('SELECT tell_of_grants(?) AS told', [batch])
  return rows[0]!.told
}

/** Forgets the notices of grants that have ended since. */
export async function deleteOldNotices(db: Db): Promise<void> {
  await db('grant_notices').whereRaw('told_at < now() - make_interval(days => ?)', [KEPT_DAYS]).delete()
}

/**
 * How long the oldest due delivery outside of the slow lane waits, in seconds (0 if none is due), and how
 * many were given up or are held.
 */
export async function deliveryBacklog(db: Db): Promise<{ oldestDueSeconds: number; failed: number; held: number }> {
  const { rows } = await db.raw<{ rows: { seconds: number | null; failed: number; held: number }[] }>(`
    SELECT (
        SELECT extract(epoch FROM now() - min(oldest.next_try_at))::float8 FROM webhooks w
        CROSS JOIN LATERAL (SELECT d.next_try_at FROM webhook_deliveries d
          WHERE d.webhook_id = w.id AND d.status IN ('queued', 'sending') ORDER BY d.next_try_at LIMIT 1) oldest
        WHERE w.disabled_at IS NULL AND NOT w.is_slow) AS seconds,
      count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'held') AS held
    FROM webhook_deliveries WHERE status IN ('failed', 'held')`)
  const { seconds, failed, held } = rows[0]!
  return { oldestDueSeconds: Math.max(0, seconds ?? 0), failed, held }
}

/** How long deliveries are stored, in days: held ones too. */
const KEPT_DAYS = 30

/** Deletes deliveries past their time, a batch. */
export async function deleteOldDeliveries(db: Db, batch: number): Promise<number> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT d.id FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
       WHERE d.created_at < now() - make_interval(days => ?)
         AND (d.finished_at IS NOT NULL OR w.disabled_at IS NOT NULL) ORDER BY d.created_at LIMIT ?)`,
    [KEPT_DAYS, batch],
  )
  return rowCount
}

/** Removes an account's webhooks and their events: nothing more is sent. */
export async function deleteWebhooksOf(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('webhooks').where({ account_id: accountId }).delete()
}
