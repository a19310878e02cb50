/**
 * A mail's job: claim → decide → send → record. The row of the mail decides, so its job may run any number of times. If
 * the process dies after the server took the mail, it is sent once more, with the same Message-ID and the same link.
 */
import type { Job, Processor } from 'bullmq'
import { DelayedError } from 'bullmq'
import type { Mailboxes } from '../../shared/mail/mailboxes.ts'
import { createMailboxes } from '../../shared/mail/mailboxes.ts'
import type { TokenMint } from '../../shared/identity/one-time-tokens.ts'
import { createTokenMint } from '../../shared/identity/one-time-tokens.ts'
import { retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import type { MailId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Mailer } from '../../shared/mail/mailer.ts'
import { describeFailure } from '../../shared/mail/mailer.ts'
import type { ClaimedMail } from '../../shared/mail/mails.ts'
import { claimMail, dueInMs, dueMails, failTry, finishMail } from '../../shared/mail/mails.ts'
import type { MailJob } from '../../shared/queues.ts'
import type { SpanEnd, Telemetry } from '../../shared/platform/telemetry/telemetry.ts'
import { processing } from '../../shared/platform/telemetry/telemetry.ts'
import type { WorkerDeps } from '../deps.ts'
import { decide } from './decide.ts'
import type { RetryPlan } from './retry-plan.ts'
import { RETRY_PLAN } from './retry-plan.ts'

/** `retries` is RETRY_PLAN if absent. */
export type MailDeps = Pick<WorkerDeps, 'config' | 'db' | 'log'> & {
  mailer: Mailer
  retries?: RetryPlan
  telemetry?: Telemetry | null
}

/** The longest that one try may take, in ms: a server that trickles its replies never meets the socket's own limit. */
const SEND_MS = 60_000

/** How long a claim holds, in seconds: longer than any try takes, so a worker that is silent for longer has died. */
const LEASE_SECONDS = 90

/**
 * How long to keep trying to record the outcome of a mail while Postgres is down, in ms: longer than for an answer of a
 * silent one (db.ts), so that a new connection is tried, and within the claim after the longest try.
 */
const NOTE_PATIENCE_MS = 28_000

/** A job that comes a little late finds its mail due; one that comes early would have to be put back. In ms. */
const AFTER_DUE_MS = 20

/** The processor of the mail queue. */
export function createMailProcessor(deps: MailDeps): Processor<MailJob> {
  const { APP_SECRET, APP_SECRET_PREVIOUS } = deps.config
  const secrets = {
    mailboxes: createMailboxes(deps.config),
    mint: createTokenMint(APP_SECRET),
    ...(APP_SECRET_PREVIOUS !== undefined && { previous: createTokenMint(APP_SECRET_PREVIOUS) }),
  }
  return async (job: Job<MailJob>, token?: string, shutdown?: AbortSignal): Promise<void> => {
    const mail = await claimMail(deps.db, job.data.mailId, LEASE_SECONDS)
    const againInMs = mail ? await traced(deps, secrets, mail, shutdown) : await dueInMs(deps.db, job.data.mailId)
    if (againInMs === null) return
    await job.moveToDelayed(Date.now() + againInMs + AFTER_DUE_MS, token)
    throw new DelayedError()
  }
}

type Secrets = { mailboxes: Mailboxes; mint: TokenMint; previous?: TokenMint }

/** One try, as a span: without the recipient. */
async function traced(
  deps: MailDeps,
  secrets: Secrets,
  mail: ClaimedMail,
  shutdown?: AbortSignal,
): Promise<number | null> {
  const span = deps.telemetry?.begin('consumer', 'process mail', undefined, {
    ...processing('mail'),
    'tollgate.mail': publicId('mail', mail.id),
    'tollgate.mail.kind': mail.kind,
    'tollgate.mail.try': mail.tries,
  })
  let how: SpanEnd = { failure: 'internal_error' }
  const report = (outcome: MailOutcome): void => {
    how = { attributes: { 'tollgate.outcome': outcome }, failure: FAILED.has(outcome) ? outcome : undefined }
  }
  try {
    return await work(deps, secrets, mail, report, shutdown)
  } finally {
    span?.end(how)
  }
}

type MailOutcome = 'sent' | 'skipped' | 'postponed' | 'not_sent' | 'dead_letter'
const FAILED: ReadonlySet<MailOutcome> = new Set(['not_sent', 'dead_letter'])

/** One try. @returns in how many ms the next one is due; null when the mail is finished. */
async function work(
  deps: MailDeps,
  secrets: Secrets,
  mail: ClaimedMail,
  report: (outcome: MailOutcome) => void,
  shutdown?: AbortSignal,
): Promise<number | null> {
  const { config, db, log, mailer } = deps
  const about = { mail: publicId('mail', mail.id), kind: mail.kind, try: mail.tries }
  const decision = await decide(db, mail, { ...secrets, baseUrl: config.BASE_URL, hourlyLimit: config.MAIL_RATE_LIMIT })
  if ('skip' in decision) {
    await finishMail(db, mail.id, 'skipped', decision.skip)
    log.info({ ...about, reason: decision.skip }, 'mail skipped')
    report('skipped')
    return null
  }
  if ('wait' in decision) {
    const pauseMs = decision.seconds * 1000
    await failTry(db, { id: mail.id, tries: mail.tries, reason: decision.wait, pauseMs })
    log.info({ ...about, reason: decision.wait, againInMs: pauseMs }, 'mail postponed')
    report('postponed')
    return pauseMs
  }
  const patience = AbortSignal.timeout(SEND_MS)
  try {
    await mailer.send(
      { ...decision.content, id: mail.id, to: mail.recipient },
      shutdown ? AbortSignal.any([patience, shutdown]) : patience,
    )
  } catch (error) {
    const againInMs = await noteFailure(deps, mail, error)
    report(againInMs === null ? 'dead_letter' : 'not_sent')
    return againInMs
  }
  await retryWhileUnreachable(NOTE_PATIENCE_MS, () => finishMail(db, mail.id, 'sent'))
  log.info(about, 'mail sent')
  report('sent')
  return null
}

async function noteFailure(
  { db, log, retries = RETRY_PLAN }: MailDeps,
  mail: ClaimedMail,
  error: unknown,
): Promise<number | null> {
  const { reason, permanent } = describeFailure(error)
  const pauseMs = retries.pauseMs(mail.tries, permanent)
  await retryWhileUnreachable(NOTE_PATIENCE_MS, () => failTry(db, { id: mail.id, tries: mail.tries, reason, pauseMs }))
  const about = {
    mail: publicId('mail', mail.id),
    kind: mail.kind,
    try: mail.tries,
    permanent,
    code: (error as { code?: unknown }).code,
  }
  // The reason may name the recipient: the row has it, for `admin mail list`.
  if (pauseMs === null) log.error(about, 'mail is a dead letter')
  else log.warn({ ...about, againInMs: pauseMs }, 'mail not sent')
  return pauseMs
}

/** The most mails that one sweep enqueues. */
const SWEEP = 500

/** How long a due mail is left to its own job, in seconds. */
const ENQUEUE_GRACE_SECONDS = 2

/**
 * Enqueues mails that are due and have not been claimed, because Redis was down when they were written or has lost
 * their jobs. A mail that still has a job is not enqueued twice. @returns how many were due.
 */
export async function enqueueDueMails(
  { db, queues }: Pick<WorkerDeps, 'db' | 'queues'>,
  graceSeconds = ENQUEUE_GRACE_SECONDS,
): Promise<number> {
  const due: MailId[] = await dueMails(db, graceSeconds, SWEEP)
  if (due.length > 0) await queues.enqueueMails(due)
  return due.length
}
