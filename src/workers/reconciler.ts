/**
 * The reconciler: finishes, collects or refunds calls that no process is working on. It runs on the maintenance
 * queue, one at a time across all workers. Every step calls the same guarded verbs as other processes, so an extra
 * run changes nothing.
 */
import type { RefundGuard, StaleCall } from '../shared/calls/types.ts'
import { accountsToEmpty, markEmptied } from '../shared/identity/accounts.ts'
import { SETTLE_LOST_SECONDS, mayHaveDelivered } from '../shared/terms/lifecycle.ts'
import { deletedWithMedia } from '../shared/calls/videos.ts'
import { gatewayError } from '../shared/platform/errors.ts'
import type { CallId } from '../shared/platform/ids.ts'
import { publicId } from '../shared/platform/ids.ts'
import { underLease } from '../shared/platform/postgres/leases.ts'
import { failpoint } from '../shared/platform/process/failpoints.ts'
import { deleteOldNetworks } from '../shared/identity/login.ts'
import { deleteExpiredInvitations } from '../shared/identity/invitations.ts'
import { deleteExpiredSessions } from '../shared/identity/sessions.ts'
import { deleteExpiredTickets } from '../shared/identity/tickets.ts'
import { createTotpBox, resealTotpSecrets } from '../shared/sign-in/factors.ts'
import { deleteExpiredChallenges } from '../shared/sign-in/passkeys.ts'
import { deleteExpiredAttempts } from '../shared/sign-in/pending.ts'
import { expireGrants } from '../shared/ledger/ledger.ts'
import { nameInUrl } from '../shared/media/media.ts'
import { dropOldMonths, makeMonths } from '../shared/calls/months.ts'
import { freeIdempotencyKeys, deleteExpiredResults, callsWithMedia, forgetMedia } from '../shared/calls/retention.ts'
import { sweepUploads } from '../shared/requests/uploads.ts'
import { deleteOldTries } from '../shared/calls/tries.ts'
import { foldUsage } from '../shared/reports/fold.ts'
import { deletePassed } from '../shared/replies/passing-answers.ts'
import { deleteOldEvents } from '../shared/payments/events.ts'
import { noticeLowBalances } from '../shared/payments/settings.ts'
import { deleteOldCounts } from '../shared/mail/allowance.ts'
import { deleteOldMails } from '../shared/mail/mails.ts'
import { deleteOldDeliveries, deleteOldNotices, emitGrantEvents } from '../shared/webhooks/deliveries.ts'
import { createSecretBox } from '../shared/webhooks/secrets.ts'
import { resealSecrets } from '../shared/webhooks/webhooks.ts'
import { auditWhenDue } from './auditor.ts'
import type { WorkerDeps } from './deps.ts'
import { enqueueDueMails } from './mail/processor.ts'
import { enqueueDuePayments } from './payments/processor.ts'
import { enqueueDueWebhooks } from './webhooks/processor.ts'

/** How often the reconciler runs, in ms: a lost job is refunded within 10 s (QUEUED_LEASE_SECONDS + this + its run). */
export const RECONCILE_EVERY_MS = 1500

/**
 * When a run counts as dead: its process may have died, and lost calls wait. A sweep of the storage may take longer,
 * so that two runs overlap, which does no harm: every verb that moves credits is guarded.
 */
const LEASE_SECONDS = 6

/** Rows of one kind in one run. */
const BATCH = 200

/** How long a call is not checked again once its job was found in the queue, in seconds. */
const STILL_QUEUED_LEASE_SECONDS = 10

/** How long its web process has to enqueue a call again, in seconds: it checks every second. */
const LEFT_TO_WEB_LEASE_SECONDS = 3

/** How often this process runs its slow sweeps, in ms: media (which walks the storage), ended sessions, old mails. */
const SWEEP_EVERY_MS = 3_600_000

/** The processor of the maintenance queue. A failed duty is logged and does not stop the others. */
export function createReconciler(deps: WorkerDeps) {
  const duties: Record<string, () => Promise<unknown>> = {
    calls: () => reconcileCalls(deps),
    mails: () => enqueueDueMails(deps),
    payments: () => enqueueDuePayments(deps),
    webhooks: () => enqueueDueWebhooks(deps),
    lowBalances: () => noticeLowBalances(deps.db, BATCH),
    grants: async () => {
      while ((await expireGrants(deps.db, BATCH)) >= BATCH);
    },
    expiringGrants: () => emitGrantEvents(deps.db, BATCH),
    results: () => deleteExpiredResults(deps.db, 10 * BATCH),
    passing: () => deletePassed(deps.db),
    tries: () => deleteOldTries(deps.db, 10 * BATCH),
    uploads: () => sweepUploads(deps.db),
    keys: () => freeIdempotencyKeys(deps.db, 10 * BATCH),
    months: () => makeMonths(deps.db),
    records: () => dropOldRecords(deps),
    media: hourly(() => deps.results.sweep(deps.config.MEDIA_TTL_DAYS)),
    sessions: hourly(() => deleteExpiredSessions(deps.db)),
    tickets: hourly(() => deleteExpiredTickets(deps.db)),
    challenges: hourly(() => deleteExpiredChallenges(deps.db)),
    attempts: hourly(() => deleteExpiredAttempts(deps.db)),
    invitations: hourly(() => deleteExpiredInvitations(deps.db)),
    loginNetworks: hourly(() => deleteOldNetworks(deps.db)),
    oldMails: hourly(() => deleteOldMails(deps.db)),
    oldMailCounts: hourly(() => deleteOldCounts(deps.db)),
    deletedAccounts: () => emptyDeletedAccounts(deps),
    deletedVideos: async () => removeMedia(deps, await deletedWithMedia(deps.db, BATCH)),
    oldDeliveries: () => deleteOldDeliveries(deps.db, 10 * BATCH),
    oldNotices: hourly(() => deleteOldNotices(deps.db)),
    webhookSecrets: hourly(() => resealSecrets(deps.db, createSecretBox(deps.config))),
    totpSecrets: hourly(() => resealTotpSecrets(deps.db, createTotpBox(deps.config))),
    oldEvents: hourly(() => deleteOldEvents(deps.db)),
    usage: () => foldUsage(deps.db),
    audit: () => auditWhenDue(deps),
  }
  return async (): Promise<void> => {
    await underLease(deps.db, 'reconciler', LEASE_SECONDS, async () => {
      for (const [name, run] of Object.entries(duties)) {
        await run().catch((error: unknown) => deps.log.error({ duty: name, err: error }, 'reconciler duty failed'))
      }
    })
  }
}

/** Does the work at the first run, and then once in SWEEP_EVERY_MS. */
function hourly(work: () => Promise<unknown>): () => Promise<unknown> {
  let doneAt = -Infinity
  return async () => {
    if (performance.now() - doneAt < SWEEP_EVERY_MS) return
    doneAt = performance.now()
    await work()
  }
}

/** Drops the months of call records past CALL_RETENTION_DAYS, where that is set. */
async function dropOldRecords({ db, config }: WorkerDeps): Promise<void> {
  if (config.CALL_RETENTION_DAYS !== undefined) await dropOldMonths(db, config.CALL_RETENTION_DAYS)
}

/** Removes the media results of deleted accounts, a batch a run. A result that cannot be removed now is tried again. */
async function emptyDeletedAccounts(deps: WorkerDeps): Promise<void> {
  const { db } = deps
  for (const account of await accountsToEmpty(db, BATCH)) {
    const calls = await callsWithMedia(db, account, BATCH)
    await removeMedia(deps, calls)
    if (calls.length === BATCH) return
    await markEmptied(db, account)
  }
}

/** Removes the results of these calls, and forgets where they were. */
async function removeMedia(
  { db, results }: WorkerDeps,
  calls: readonly { id: CallId; resultUrls: string[] }[],
): Promise<void> {
  for (const resultUrl of calls.flatMap(({ resultUrls }) => resultUrls)) {
    const name = nameInUrl(resultUrl)
    if (name) await results.remove(name)
  }
  await forgetMedia(
    db,
    calls.map(({ id }) => id),
  )
}

/** The fields of a log line about a call whose job, and with it its trace, is gone. */
const about = ({ id, requestId }: StaleCall) => ({ call: publicId('call', id), requestId })

/** Decides about calls whose lease has run out. */
export async function reconcileCalls(deps: WorkerDeps): Promise<void> {
  const stale = await deps.calls.findStale(BATCH)
  await Promise.all(
    stale.map(async (call) => {
      try {
        await reconcile(deps, call)
      } catch (error) {
        deps.log.warn({ ...about(call), err: error }, 'call not reconciled')
      }
    }),
  )
}

/**
 * Decides about one call. Redis shows only whether a job still exists. Whether credits move is decided by the guard of
 * the verb, which changes nothing if a worker begins the call meanwhile; a call that ran is begun here before it is
 * refunded, as by a worker that takes it over.
 */
async function reconcile(deps: WorkerDeps, call: StaleCall): Promise<void> {
  failpoint('stale.found', call.id)
  if (call.overdue) return refundLost(deps, call, 'The call was not finished in time.', { overdue: true })
  if (await deps.queues.hasJob(call.modality, call.id)) {
    // The next run of its job takes over a call that ran: it must not wait for another lease.
    if (call.status === 'queued') await deps.calls.renew([call], STILL_QUEUED_LEASE_SECONDS)
    return
  }
  if (call.submitted) {
    deps.log.warn(about(call), 'task without a job: enqueued again')
    return deps.queues.enqueueCall(
      call.modality,
      {
        callId: call.id,
        accountId: call.accountId,
        request: null,
        catalogueVersion: call.catalogueVersion,
        requestId: call.requestId,
        deadlineAt: 0,
      },
      1,
    )
  }
  if (call.status === 'running') {
    const taken = await deps.calls.begin(call.id)
    if (taken) await refundLost(deps, call, 'The call was lost while it ran.', { attempt: taken.attempt })
  } else if (await deps.queues.isLeftToWeb(call.id, call.replyTo)) {
    await deps.calls.renew([call], LEFT_TO_WEB_LEASE_SECONDS)
  } else await refundLost(deps, call, 'The call was lost before it began.', { attempt: call.attempt })
}

/** Refunds a call; what was delivered of one, its web process is to settle first. */
async function refundLost(
  { calls, queues, publisher, log }: WorkerDeps,
  call: StaleCall,
  sentence: string,
  guard: RefundGuard,
): Promise<void> {
  const { attempt = call.attempt } = guard
  if (mayHaveDelivered(call) && (await queues.isLeftToReader(call.id, call.replyTo))) {
    await calls.renew([{ id: call.id, attempt }], SETTLE_LOST_SECONDS)
    return
  }
  const error = gatewayError('upstream_failed', `${sentence} The credits charged for it were refunded.`)
  const ended = await calls.refund(call.id, error, { ...guard, reconciled: true })
  if (!ended) return
  log.warn({ ...about(call), status: call.status, overdue: call.overdue }, 'call refunded by the reconciler')
  await publisher.ended(ended)
}
