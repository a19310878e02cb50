/** A chat call at its upstreams. */
import type { ChatModel, Route } from '../../shared/catalogue/catalogue.ts'
import type { Settlement } from '../../shared/calls/types.ts'
import { WORKER_LOST, settleChat } from '../../shared/calls/chat-settlement.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import { carryingRoutes } from '../../shared/chat/protocols.ts'
import { sealFor } from '../../shared/chat/seal.ts'
import type { ChatPrice } from '../../shared/terms/pricing.ts'
import { allInput, settledCost } from '../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { SpanAttributes } from '../../shared/platform/telemetry/telemetry.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import type { PaidAnswer } from './streamed-answer.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun, callerOf, contextOf, sendTo, upstreamFailure } from './run-call.ts'
import { chatMicroUsd } from './costs.ts'
import { atItsModels } from './model-list.ts'
import { beginSession, madeBefore } from './session.ts'
import { withReferences } from './references.ts'
import type { ChatAdapter, UpstreamContext } from '../upstreams/adapter.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import { quotedWords } from '../upstreams/quoted-words.ts'
import { trustedUsage, hasReasoned } from '../upstreams/trusted-usage.ts'

/** A chat whose first attempt may have been sent is sent once more; a third time would only cost more. */
const MAX_ATTEMPTS = 2

/** Runs a chat call to its end. @throws UpstreamError when every try failed. */
export async function runChat(deps: WorkerDeps, model: ChatModel, run: Run): Promise<Outcome> {
  const request = run.job.request as ChatRequest
  // The lost attempt may already have streamed a part to its reader.
  if (run.call.resumed && request.stream) return { is: 'failed', error: WORKER_LOST }
  // What comes whole was billed whole: it is not cancelled.
  if (!request.stream) run.held.onDisconnect = () => {}
  if (run.call.resumed && run.call.attempt > MAX_ATTEMPTS) return upstreamFailure('The call was interrupted too often.')
  return atItsModels(deps, model, run, (asked, patienceMs) => askModel(deps, asked, run, patienceMs))
}

/** Asks the upstreams of the model that a run has now. @throws UpstreamError when every try failed. */
async function askModel(deps: WorkerDeps, model: ChatModel, run: Run, patienceMs?: number): Promise<Outcome> {
  const request = run.job.request as ChatRequest
  const session = await beginSession(deps, run)
  const preferred = (await madeBefore(deps, run)) ?? session?.pin ?? undefined
  const settlement = await withReferences(deps, run, (references) => {
    const caller = { ...callerOf(run), prepare: references.prepare, preferred, patienceMs }
    const routes = carryingRoutes(model.routes, request, run.job.dialect)
    return deps.upstreams.tryRoutes({ ...model, routes }, caller, async (route, begun) => {
      const adapter = deps.upstreams.adapterFor(route, 'chat')
      const asked = { adapter, route, request: references.requestFor(request, route) }
      const onBegin = (): void => {
        run.hasBegun = true
        begun()
        session?.servedBy(route)
      }
      const answer = await sendTo(run, route, () => ask(deps, run, asked, onBegin), spanAttributes).catch(
        (error: unknown) => {
          attachQuote(error, run, asked)
          throw error
        },
      )
      session?.servedBy(route)
      if (answer.usage && hasReasoned(answer.usage)) deps.reasoners.add(route)
      if (answer.refused.length > 0) warnOfRefusedUsage(deps, run, route, answer)
      return settlementOf(model, run, route, answer)
    })
  })
  return { is: 'settled', settlement }
}

/** Lets a refusal of an upstream reach the client in its own words, where both speak the same dialect. */
function attachQuote(
  error: unknown,
  { call, job: { dialect = 'chat', betas } }: Run,
  { adapter, route, request }: Asked,
): void {
  if (!(error instanceof UpstreamError) || adapter.dialect !== dialect || !dialectOf(dialect).reportsFailures) return
  error.quoted = quotedWords(error, route, { request, betas, model: call.model })
}

const spanAttributes = ({ tokens }: PaidAnswer): SpanAttributes => ({
  'gen_ai.usage.input_tokens': allInput(tokens),
  'gen_ai.usage.output_tokens': tokens.output,
})

/** Warns of a report that cannot be true: the upstream may bill it. */
function warnOfRefusedUsage(
  { log, usageRefused }: WorkerDeps,
  run: Run,
  { upstream }: Route,
  answer: PaidAnswer,
): void {
  const { usage: reported, refused, tokens } = answer
  log.warn({ ...aboutRun(run), upstream: upstream.name, reported, refused, settledOn: tokens }, 'usage not believed')
  for (const count of refused) usageRefused(upstream.name, count)
}

/** What even a slow upstream manages: `tokensPerSecond`, after it has thought for `thinkingMs`. */
const SLOW = { tokensPerSecond: 5, thinkingMs: 60_000 }

/**
 * Whether a chat may run into its deadline. At that moment a streamed answer has shown what was produced and will be
 * billed, and a whole one has not. Streaming every chat from its upstream would show it for all of them; but it costs a
 * JSON object a token where one would do, and some upstreams do not stream every model to everybody. A chat that even a
 * slow upstream finishes in time is therefore read whole.
 */
function mayRunOutOfTime({ call, job }: Run): boolean {
  const { max_tokens: most } = job.request as ChatRequest
  return call.remainingMs < SLOW.thinkingMs + (most * 1000) / SLOW.tokensPerSecond
}

/**
 * Whether an answer may be longer than is read. One that comes whole was billed whole, and reports its usage at its
 * end: what was cut off is then not known. A stream is stopped where it is cut.
 */
const mayBeTooLong = ({ job }: Run, maxBytes: number): boolean =>
  dialectOf(job.dialect).mostBytes(job.request as ChatRequest) > maxBytes

const chatContextOf = ({ config, log }: WorkerDeps, route: Route, run: Run): UpstreamContext => ({
  ...contextOf(route, run),
  dialect: run.job.dialect,
  estimatedInput: run.bounds.estimate.input,
  betas: run.job.betas,
  cacheKey: run.job.session?.digest,
  written: run.written,
  seal: sealFor(config.APP_SECRET, { accountId: run.job.accountId, route: `${route.upstream.name} ${route.model}` }),
  onSkipped: () => log.warn({ ...aboutRun(run), upstream: route.upstream.name }, 'an event was skipped'),
})

/** What is asked at a route: the request as its upstream gets it. */
type Asked = { adapter: ChatAdapter; route: Route; request: ChatRequest }

/** @param begun to be called before the first chunk is sent: a second try would show its reader two answers in one. */
function ask(deps: WorkerDeps, run: Run, asked: Asked, begun: () => void): Promise<PaidAnswer> {
  const { adapter, route, request } = asked
  const streamed = () =>
    new StreamedAnswer(deps, run, route, begun).read((onSent, take) =>
      adapter.streamChat(request, { ...chatContextOf(deps, route, run), onSent }, take),
    )
  if (request.stream) return streamed()
  if (!mayRunOutOfTime(run) && !mayBeTooLong(run, deps.config.MAX_ANSWER_BYTES)) return whole(deps, run, asked)
  return streamed().catch((error: unknown) => {
    if (!isRefusalToStream(error)) throw error
    return whole(deps, run, asked)
  })
}

/** Some upstreams stream certain models only to verified customers. Nothing was accepted then. */
const isRefusalToStream = (error: unknown): boolean =>
  error instanceof UpstreamError && error.kind !== 'unknown' && /\bstream/i.test(error.said ?? '')

async function whole(deps: WorkerDeps, run: Run, { adapter, route, request }: Asked): Promise<PaidAnswer> {
  const form = dialectOf(run.job.dialect).answers
  const { answer, usage, isCut } = await adapter.chat(request, chatContextOf(deps, route, run))
  const counted = form.count(answer)
  const { tokens, refused } = trustedUsage(usage, { bounds: run.bounds, counted })
  const end = isCut ? 'too_long' : 'finished'
  const verdict = settleChat({ end, sent: true, isRelayed: false, counted, tokens })
  if (verdict.is !== 'paid') throw new UpstreamError('unknown', 'the answer was cut before it had any content')
  return { answer, usage, tokens, refused }
}

function settlementOf(
  model: ChatModel,
  { call, job, spent }: Run,
  route: Route,
  { answer, tokens, usage }: PaidAnswer,
): Settlement {
  spent.add(chatMicroUsd(route, tokens, usage))
  return {
    cost: settledCost(call.price as ChatPrice, tokens, call.charged),
    tokens,
    costMicroUsd: spent.total,
    upstream: route.upstream.name,
    resultUrl: null,
    output: dialectOf(job.dialect).answers.output(answer, model.id, tokens),
  }
}
