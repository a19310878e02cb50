/**
 * `/admin/queues`: the queues, for operators (bull-board). Prompts never leave Redis this way: of a job only a few
 * fields are shown. Nothing that is done here moves credits: a call whose job is gone is refunded by the reconciler.
 */
import type { BoardHooks } from '@bull-board/api/typings/app'
import type { Context, Middleware } from 'koa'
import { QUEUE_NAMES } from '../../shared/terms/kinds.ts'
import type { QueueName } from '../../shared/terms/kinds.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { CallJob, MailJob } from '../../shared/queues.ts'
import { isSameSecret } from '../../shared/platform/http/same-secret.ts'
import { networkOf } from '../../shared/platform/net/networks.ts'
import type { WebDeps } from '../deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { hasBody, readJsonBody } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { Board } from './board.ts'

type DashboardDeps = Pick<WebDeps, 'config' | 'queues' | 'limits' | 'bodyMemory' | 'largeBodies'>

/** Its path, which bull-board needs. */
export const DASHBOARD_PATH = '/admin/queues'

/** The page writes style elements of its own while it runs. Everything it loads comes from this server. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The message of an error may quote the prompt; the worker's log has its code. */
const HIDDEN_REASON = 'See the log of the worker.'

/** The handlers of the dashboard, in their order: authentication, permitted actions, the board. */
export function createDashboard(deps: DashboardDeps, password: string): Middleware<RequestState>[] {
  return [requireOperator(deps, password), refuseChanges(deps.config), serveBoard(deps)]
}

/** HTTP Basic, user `admin`. Failures count against the networks of the client; too many lock these out for a while. */
function requireOperator({ config, limits }: DashboardDeps, password: string): Middleware<RequestState> {
  const expected = `admin:${password}`
  return async (ctx, next) => {
    const given = credentialsOf(ctx.get('authorization'))
    const client = clientAddress(ctx.req, config.TRUST_PROXY)
    if (given === null) throw challenge()
    if (!isSameSecret(given, expected)) {
      await limits.dashboardFailures.take(client)
      throw challenge()
    }
    await limits.dashboardFailures.refuseSpent(client)
    await next()
  }
}

const challenge = (): ApiError =>
  new ApiError('unauthorized', {
    message: 'Log in as admin with the dashboard password.',
    headers: { 'WWW-Authenticate': 'Basic realm="Tollgate queues", charset="UTF-8"' },
  })

/** RFC 7617: `user:password` in base64 of UTF-8. */
function credentialsOf(header: string): string | null {
  const match = /^basic +([a-z0-9+/]+=*) *$/i.exec(header)
  return match ? Buffer.from(match[1]!, 'base64').toString('utf8') : null
}

/**
 * Only reading is allowed unless DASHBOARD_WRITE is on; then only from the dashboard itself, because browsers send
 * Basic credentials with the requests of other sites' pages too.
 */
function refuseChanges({ BASE_URL, DASHBOARD_WRITE }: WebDeps['config']): Middleware<RequestState> {
  return async (ctx, next) => {
    const changes = ctx.method !== 'GET' && ctx.method !== 'HEAD'
    if (changes && DASHBOARD_WRITE === 'off')
      throw new ApiError('method_not_allowed', { headers: { Allow: 'GET, HEAD' } })
    if (changes && !isOwnPage(ctx, BASE_URL))
      throw new ApiError('forbidden', { message: 'Changes can only be made from the dashboard itself.' })
    await next()
  }
}

/** Whether a request names no page as its origin, or one of this server. */
function isOwnPage(ctx: Context, baseUrl: string): boolean {
  const origin = ctx.get('origin')
  if (origin === '') return ['', 'same-origin', 'none'].includes(ctx.get('sec-fetch-site'))
  return origin === new URL(baseUrl).origin || (URL.canParse(origin) && new URL(origin).host === ctx.get('host'))
}

/**
 * Bull-board itself. It takes 0.2 s to load, so it is loaded in the background, and only where it is wanted. A load
 * that failed is tried again by the next request.
 */
function serveBoard(deps: DashboardDeps): Middleware<RequestState> {
  let loading: ReturnType<typeof loadBoard> | undefined
  const load = () =>
    (loading ??= loadBoard(deps).catch((error: unknown) => {
      loading = undefined
      throw error
    }))
  load().catch(() => {})
  return async (ctx) => {
    const board = await load()
    const route = (ctx as { _matchedRoute?: unknown })._matchedRoute
    ctx.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-store' })
    await board(ctx)
    // Its own router has named its own pattern; the log and the metrics know this one.
    Object.assign(ctx, { _matchedRoute: route })
  }
}

async function loadBoard(deps: DashboardDeps) {
  const { config, queues } = deps
  const [{ createBullBoard }, { BullMQAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
  ])
  // One whose set-up fails is replaced, and the board would go on with the old one.
  await Promise.all(QUEUE_NAMES.map((name) => queues.queue(name).waitUntilReady()))
  const board = new Board(DASHBOARD_PATH, async (ctx) =>
    hasBody(ctx) ? readJsonBody(ctx, deps, networkOf(clientAddress(ctx.req, config.TRUST_PROXY))) : {},
  )
  const readOnlyMode = config.DASHBOARD_WRITE === 'off'
  createBullBoard({
    queues: QUEUE_NAMES.map((name) => {
      const adapter = new BullMQAdapter(queues.queue(name), { readOnlyMode })
      adapter.setFormatter('data', (data: Partial<CallJob & MailJob>) => shownData(name, data))
      adapter.setFormatter('returnValue', () => null)
      return adapter
    }),
    serverAdapter: board,
    options: { uiConfig: { boardTitle: 'Tollgate queues', hideDocsLink: true }, handlerHooks: hooks },
  })
  return board.middleware()
}

/** What is shown of a job, in the words of the operator's command line: never `request`, which holds the prompt. */
function shownData(
  queue: QueueName,
  { callId, mailId, requestId, deadlineAt }: Partial<CallJob & MailJob>,
): Record<string, string> {
  if (mailId !== undefined) return { mailId: publicId('mail', mailId) }
  if (callId === undefined) return {}
  return {
    callId: publicId('call', callId),
    modality: queue,
    requestId: requestId ?? '',
    ...(deadlineAt && { deadline: new Date(deadlineAt).toISOString() }),
  }
}

/** A job's data are only shown in part: a job that is added or edited from that could not run. */
const FORBIDDEN_ROUTES: ReadonlySet<string> = new Set([
  '/api/queues/:queueName/add',
  '/api/queues/:queueName/:jobId/update-data',
])

const hooks: BoardHooks = {
  before: ({ route }) => (FORBIDDEN_ROUTES.has(route) ? { allow: false } : undefined),
  after: (_context, result) => {
    const body = result.body as { queues?: { jobs: ShownJob[] }[]; job?: ShownJob }
    for (const job of [...(body.queues ?? []).flatMap(({ jobs }) => jobs), ...(body.job ? [body.job] : [])])
      hideErrors(job)
    return result
  },
}

type ShownJob = { failedReason?: string; deferredFailure?: string; stacktrace: string[] }

function hideErrors(job: ShownJob): void {
  if (job.failedReason) job.failedReason = HIDDEN_REASON
  if (job.deferredFailure) job.deferredFailure = HIDDEN_REASON
  job.stacktrace = job.stacktrace.map(() => HIDDEN_REASON)
}
