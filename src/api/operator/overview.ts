/** /api/operator/overview: the state of the service at a glance. */
import { z } from 'zod'
import { totalsOfAccounts } from '../../shared/identity/accounts.ts'
import { oldestQueued } from '../../shared/reports/backlog.ts'
import { tallyLastDay } from '../../shared/reports/last-day.ts'
import { QUEUE_NAMES, isModality } from '../../shared/terms/kinds.ts'
import type { QueueName } from '../../shared/terms/kinds.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { isLocal } from '../../shared/platform/config/config.ts'
import { cachedReading } from '../../shared/platform/process/cached.ts'
import { givenSince } from '../../shared/ledger/sums.ts'
import { mailBacklog } from '../../shared/mail/mails.ts'
import { holdersOf } from '../../shared/operators/accounts.ts'
import { factorAdvice } from '../../shared/sign-in/policy.ts'
import { countReviews, receivedSince } from '../../shared/payments/orders.ts'
import { credits, id, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { DASHBOARD_PATH } from '../ops/dashboard.ts'
import { operator } from '../endpoint/auth.ts'
import { accountName } from './answers.ts'

/** How long a reading is cached, in ms: operators who read at the same time, or reload, cost one. */
const CACHE_MS = 10_000

/** How many accounts and models are named. */
const TOP = 5

const MONTH_DAYS = 30

const given = z.strictObject({
  sold: credits.meta({ description: 'Credits of purchases.' }),
  paid: credits.meta({ description: 'Of these, those of payments; the others were granted as purchases by hand.' }),
  given: credits.meta({ description: 'Sign-up credits, bonuses, adjustments and imports.' }),
  takenBack: credits.meta({ description: 'Taken back for refunds and disputes, less what was reinstated.' }),
})

const tally = {
  calls: z.int().meta({ description: 'Calls that were accepted.' }),
  failed: z.int(),
  refused: z.int().meta({ description: 'Requests that were refused before any charge.' }),
  credits: credits.meta({ description: 'What the calls cost.' }),
}

const count = z.int().nullable()

const queue = z.strictObject({
  queue: z.enum(QUEUE_NAMES),
  waiting: count.meta({ description: 'Jobs that no worker has taken; null if Redis cannot be reached.' }),
  running: count,
  delayed: count.meta({ description: 'Until their next poll or try.' }),
  oldestSeconds: z.number().meta({ description: 'How long the oldest has waited; 0 where none does.' }),
  failed: z.int().nullable().meta({ description: 'Calls that failed in the last 24 hours, or dead letters.' }),
})

const overview = z
  .strictObject({
    ok,
    takenAt: time,
    lastDay: z.strictObject({
      ...tally,
      accounts: z.int().meta({ description: 'Accounts that made calls.' }),
      topAccounts: z.array(z.strictObject({ accountId: id('acc'), email: z.string(), name: accountName, ...tally })),
      topModels: z.array(z.strictObject({ model: z.string(), ...tally })),
    }),
    sold: z.strictObject({ lastDay: given, lastMonth: given }),
    accounts: z.strictObject({
      accounts: z.int(),
      opened: z.int().meta({ description: 'In the last 24 hours.' }),
      outstanding: credits.meta({ description: 'The sum of all balances.' }),
      owed: credits.meta({ description: 'The sum of all debts.' }),
    }),
    queues: z.array(queue),
    deadMails: z.int(),
    paymentsInReview: z.int(),
    received: z
      .array(z.strictObject({ currency: z.string(), amountMinor: z.int(), refundedMinor: z.int() }))
      .meta({ description: 'Payments of the last 30 days, and what of them was refunded or is disputed.' }),
    setup: z
      .strictObject({
        modelsWithoutUpstream: z.array(z.string()).meta({ description: 'Models that no upstream with a key serves.' }),
        hasCreditWorth: z.boolean().meta({ description: 'The catalogue has `creditMicroUsd`.' }),
        isPublic: z.boolean().meta({ description: '`BASE_URL` is not of this machine.' }),
        sendsMail: z.boolean(),
        sellsCredits: z.boolean(),
      })
      .meta({ description: 'What is configured of what customers need.' }),
    advice: z.array(z.string()).meta({ description: 'What the configuration should have, a sentence each.' }),
    dashboard: z.string().nullable().meta({ description: 'Where the dashboard of the queues is, if it is offered.' }),
  })
  .meta({ id: 'OperatorOverview' })

/** Shows sales, use, accounts, queues and what waits for an operator. */
export const showOverview = endpoint({
  views: 'nobody',
  tag: 'Operators',
  auth: operator,
  method: 'get',
  path: '/api/operator/overview',
  summary: 'Show how the service is doing',
  description:
    'Figures are of the last 24 hours unless stated otherwise, and may be 10 seconds old; with millions of calls a ' +
    'day, up to a minute.',
  answers: { 200: { description: 'The figures.', schema: overview } },
}).handle((deps: Deps) => cachedReading({ forMs: CACHE_MS }, () => read(deps)))

type Deps = Pick<WebDeps, 'config' | 'catalogue' | 'db' | 'queues'>

function setupOf({ config, catalogue }: Deps): z.input<typeof overview>['setup'] {
  const { models, creditMicroUsd } = catalogue.current()
  return {
    modelsWithoutUpstream: [...models.values()].filter(({ routes }) => routes.length === 0).map(({ id }) => id),
    hasCreditWorth: creditMicroUsd !== null,
    isPublic: !isLocal(config),
    sendsMail: config.SMTP_URL !== undefined,
    sellsCredits: config.PAYMENTS !== undefined,
  }
}

async function read(deps: Deps): Promise<z.input<typeof overview>> {
  const { config, db, queues } = deps
  const [
    { modalities, topAccounts, ...day },
    lastDay,
    lastMonth,
    accounts,
    paymentsInReview,
    received,
    mails,
    oldestOf,
    jobs,
  ] = await Promise.all([
    tallyLastDay(db, TOP),
    givenSince(db, 1),
    givenSince(db, MONTH_DAYS),
    totalsOfAccounts(db),
    countReviews(db),
    receivedSince(db, MONTH_DAYS),
    mailBacklog(db),
    oldestQueued(db) as Promise<Partial<Record<QueueName, number>>>,
    Promise.all(QUEUE_NAMES.map((name) => jobsOf(queues, name))),
  ])
  const holderOf = await holdersOf(
    db,
    topAccounts.map(({ accountId }) => accountId),
  )
  const failed = (name: QueueName): number | null => {
    if (name === 'mail') return mails.dead
    if (!isModality(name)) return null
    return modalities.find(({ modality }) => modality === name)?.failed ?? 0
  }
  return {
    ok: true,
    takenAt: new Date().toISOString(),
    lastDay: {
      ...day,
      topAccounts: topAccounts.map(({ accountId, ...rest }) => ({
        ...rest,
        accountId: publicId('account', accountId),
        ...holderOf(accountId),
      })),
    },
    sold: { lastDay, lastMonth },
    accounts,
    queues: jobs.map((job) => ({
      ...job,
      failed: failed(job.queue),
      oldestSeconds: job.queue === 'mail' ? mails.oldestDueSeconds : (oldestOf[job.queue] ?? 0),
    })),
    deadMails: mails.dead,
    paymentsInReview,
    received,
    setup: setupOf(deps),
    advice: factorAdvice(deps.config),
    dashboard: config.DASHBOARD_PASSWORD ? DASHBOARD_PATH : null,
  }
}

/** The jobs of a queue; null each where Redis is unreachable. */
async function jobsOf(queues: WebDeps['queues'], name: QueueName) {
  const jobs = await queues.jobCounts(name).catch(() => null)
  return {
    queue: name,
    waiting: jobs?.waiting ?? null,
    running: jobs?.active ?? null,
    delayed: jobs?.delayed ?? null,
  }
}
