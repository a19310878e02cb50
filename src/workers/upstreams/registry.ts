/**
 * All that a call processor needs of the upstreams:
 *
 * - `adapterFor(route, modality)`: who speaks to a route's upstream.
 * - `tryRoutes(model, caller, work)`: does one piece of work at the model's upstreams in their order, again where
 *   that is safe (`routing.ts`), within each upstream's limit and with regard to its health (`circuits.ts`) and to that
 *   of its keys (`pools.ts`). For the submission of media and for whole chats; polls of a task are the processor's own
 *   to repeat.
 * - `health()`: a snapshot for metrics.
 * - `close()`: at the end of the process; ends requests that still run.
 *
 * A new protocol is one line in `adapters` below.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropicKey, bearer, falKey, googleKey } from '../../shared/catalogue/authorization.ts'
import type { Model, Protocol, Route } from '../../shared/catalogue/catalogue.ts'
import { keysFor, withKey } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import type { Adapter } from './adapter.ts'
import { NoKey, UpstreamError } from './adapter.ts'
import { createAnthropicChat } from './anthropic/chat.ts'
import { BACKOFF_MS, nextAttempt } from './routing.ts'
import type { FailedTry, Target } from './routing.ts'
import { Latencies, orderedRoutes } from './order.ts'
import { Pools, targetsOf } from './pools.ts'
import type { KeyListener } from './pools.ts'
import { createGeminiChat } from './gemini/chat.ts'
import { createGeminiEmbeddings } from './gemini/embeddings.ts'
import { createGeminiImages } from './gemini/images.ts'
import { createHealth } from './circuits.ts'
import type { BreakerSettings, Caller, HealthListener, UpstreamHealth } from './circuits.ts'
import { createConnections } from './http.ts'
import type { Connections, Timeouts } from './http.ts'
import { createOpenaiChat } from './openai/chat.ts'
import { createOpenaiEmbeddings } from './openai/embeddings.ts'
import { createOpenaiImages } from './openai/images.ts'
import { createOpenaiModerations } from './openai/moderations.ts'
import { createOpenaiRerank } from './openai/rerank.ts'
import { createOpenaiSpeech } from './openai/speech.ts'
import { createOpenaiTranscriptions } from './openai/transcriptions.ts'
import { openaiVideos } from './openai/videos.ts'
import { createTaskAdapter } from './tasks/engine.ts'
import type { TaskPreset } from './tasks/engine.ts'
import { falTasks } from './tasks/fal.ts'
import { createResponsesChat } from './responses/chat.ts'
import { createOpenrouterImages, openrouterVideos } from './tasks/openrouter.ts'
import { replicateTasks } from './tasks/replicate.ts'

/** What the adapters are built on. Everything but the first three is for tests. */
export type UpstreamDeps = {
  /** What one account may have of an upstream's `concurrency`. */
  accountShare: number
  /** The listener of circuits. */
  listener?: HealthListener
  /** Is called for each request with the answer that the upstream does not serve us: its operator must fix that. */
  notServed?: (upstream: string, key: string, failure: UpstreamError) => void
  /** The listener of keys. */
  keys?: KeyListener
  /** The longest answer of a chat, in bytes. */
  maxAnswerBytes?: number
  timeouts?: Timeouts
  breaker?: BreakerSettings
  /** The pause before an upstream's second try, in ms. */
  backoffMs?: number
}

/**
 * One try of a call at one route. A stream calls `begun` before its first chunk is sent: failures are final after that.
 */
export type Work<T> = (route: Route, begun: () => void) => Promise<T>

/**
 * The account that asks. `prepare` runs before a place at the route's upstream is taken; what it throws ends the tries.
 * `costOf`: what the call is expected to cost at a route, in micro-dollars; null if unknown.
 */
export type RouteCaller = Caller & {
  prepare?: (route: Route) => Promise<void>
  costOf?: (route: Route) => number | null
  /** The upstream and the key that are tried first where that is possible, by their names. */
  preferred?: { upstream: string; key: string } | undefined
  /** The longest pause before a retry, in ms. */
  patienceMs?: number | undefined
}

/** What of a model decides where its calls go. */
export type Routed = Pick<Model, 'modality' | 'routes' | 'routing'>

/** What `createUpstreams` returns. */
export type Upstreams = ReturnType<typeof createUpstreams>

/** The upstreams of this process. Opens no connection yet. */
export function createUpstreams(deps: UpstreamDeps) {
  const { backoffMs = BACKOFF_MS } = deps
  const connections = createConnections(deps.timeouts, deps.maxAnswerBytes)
  const adapters = createAdapters(connections)
  const health = createHealth(deps.accountShare, deps.breaker, deps.listener)
  const pools = new Pools(deps.accountShare, deps.keys)
  const latencies = new Latencies()
  return {
    /** The adapter of a protocol. */
    adapterOf: (protocol: Protocol): Adapter => adapters[protocol],

    /** How a route's upstream serves a kind of call. @throws UpstreamError `rejected` where its protocol does not */
    adapterFor: <M extends Modality>({ upstream }: Route, modality: M): NonNullable<Adapter[M]> => {
      const adapter = adapters[upstream.protocol][modality]
      if (!adapter) throw new UpstreamError('rejected', `${upstream.protocol} serves no ${modality}`)
      return adapter
    },

    /**
     * @throws the last UpstreamError; NoKey where the last of them was a key's, or no key takes requests; any other
     * error at once
     */
    tryRoutes: async <T>(model: Routed, caller: RouteCaller, work: Work<T>): Promise<T> => {
      const failed: FailedTry[] = []
      const latencyOf = (route: Route): number | null => latencies.medianOf(route, Date.now())
      const routes = orderedRoutes(model, { costOf: caller.costOf ?? (() => null), latencyOf, random: Math.random })
      const targets = targetsOf(routes, keysFor)
      const { openUntil } = health
      const { readyAt, choose } = pools
      const preferred = targetNamed(caller.preferred, routes)
      const { patienceMs } = caller
      const { modality } = model
      const state = { preferred, modality, targets, failed, openUntil, readyAt, choose, backoffMs, patienceMs }
      for (;;) {
        const step = nextAttempt({ ...state, now: Date.now(), random: Math.random })
        if (step.is === 'give_up') throw lastFailure(failed, targets, readyAt)
        const { route, key } = step
        if (step.afterMs > 0) await pause(step.afterMs, caller.signal)
        await caller.prepare?.(route)
        let isFinal = false
        try {
          const outcome = await health.during(route.upstream, caller, () =>
            pools.during(step, caller, async (begun) => {
              const sentAt = performance.now()
              const done = await work(withKey(route, key), () => {
                if (!isFinal) latencies.add(route, performance.now() - sentAt, Date.now())
                isFinal = true
                begun()
              })
              if (!isFinal) latencies.add(route, performance.now() - sentAt, Date.now())
              return done
            }),
          )
          if (outcome) return outcome.done
        } catch (error) {
          if (!(error instanceof UpstreamError) || isFinal) throw error
          if (error.kind === 'not_served') deps.notServed?.(route.upstream.name, key.name, error)
          failed.push({ route, key, error, at: Date.now() })
        }
      }
    },

    /** What is known of keys. */
    pools,

    health: (): UpstreamHealth[] => health.snapshot(),

    close: connections.close,
  }
}

/** The target of these names; also with a key that gets nothing new. */
function targetNamed(named: RouteCaller['preferred'], routes: readonly Route[]): Target | undefined {
  if (!named) return undefined
  for (const route of routes) {
    const key = route.upstream.name === named.upstream && keysFor(route).find(({ name }) => name === named.key)
    if (key) return { route, key }
  }
  return undefined
}

/** The failure of a call for which nothing is left to try. */
function lastFailure(
  failed: readonly FailedTry[],
  targets: readonly Target[],
  readyAt: (target: Target) => number,
): UpstreamError {
  const last = failed.at(-1)?.error
  if (last?.keyFault === null) return last
  const now = Date.now()
  const earliest = Math.min(...targets.map(readyAt).filter((at) => at > now))
  return new NoKey(earliest === Infinity ? null : earliest - now, last)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: signal })
  } catch (error) {
    throw new UpstreamError('aborted', 'ended between two tries', { cause: error })
  }
}

/** One adapter a protocol; a protocol that is missing here does not compile. */
function createAdapters({ http }: Connections): Record<Protocol, Adapter> {
  const byBearer = http(bearer)
  const byKey = http(falKey)
  const byGoogleKey = http(googleKey)
  const bearerTasks = (preset: TaskPreset) => createTaskAdapter(byBearer, preset)
  const openaiChat = createOpenaiChat(byBearer)
  return {
    openai: {
      chat: openaiChat,
      image: createOpenaiImages(byBearer),
      video: bearerTasks(openaiVideos),
      embedding: createOpenaiEmbeddings(byBearer),
      moderation: createOpenaiModerations(byBearer),
      rerank: createOpenaiRerank(byBearer),
      speech: createOpenaiSpeech(byBearer),
      transcription: createOpenaiTranscriptions(byBearer),
    },
    anthropic: { chat: createAnthropicChat(http(anthropicKey)) },
    responses: { chat: createResponsesChat(byBearer) },
    gemini: {
      chat: createGeminiChat(byGoogleKey),
      image: createGeminiImages(byGoogleKey),
      embedding: createGeminiEmbeddings(byGoogleKey),
    },
    fal: { image: createTaskAdapter(byKey, falTasks('image')), video: createTaskAdapter(byKey, falTasks('video')) },
    replicate: { image: bearerTasks(replicateTasks('image')), video: bearerTasks(replicateTasks('video')) },
    openrouter: { chat: openaiChat, image: createOpenrouterImages(byBearer), video: bearerTasks(openrouterVideos) },
  }
}
