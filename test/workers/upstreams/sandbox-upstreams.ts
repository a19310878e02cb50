import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import { DEFAULT_KEY } from '../../../src/shared/catalogue/catalogue.ts'
import type { Protocol, Route, Upstream } from '../../../src/shared/catalogue/catalogue.ts'
import { mapKinds } from '../../../src/shared/terms/kinds.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type {
  ChatEvent,
  ChatResult,
  FailureKind,
  MediaAdapter,
  TakeEvent,
  UpstreamContext,
} from '../../../src/workers/upstreams/adapter.ts'
import type { Patience, Timeouts } from '../../../src/workers/upstreams/http.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import type { Caller } from '../../../src/workers/upstreams/circuits.ts'
import { handoverOf } from '../../../src/workers/upstreams/references.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { UpstreamDeps, Upstreams } from '../../../src/workers/upstreams/registry.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'

/** The paths at which the sandbox speaks each protocol. */
const BASES: Record<Protocol, string> = {
  openai: '/v1',
  anthropic: '/anthropic',
  responses: '/v1',
  gemini: '/gemini',
  fal: '/fal',
  replicate: '/replicate/v1',
  openrouter: '/openrouter/api/v1',
}

/** A context with the picture of a request, as an adapter that uploads gets it. Decodes data URIs, and no others. */
export function uploading(context: UpstreamContext, adapter: MediaAdapter, image: string | undefined): UpstreamContext {
  if (image === undefined || handoverOf(context.route, adapter) !== 'upload') return context
  const pieces = [Buffer.from(image.split(',')[1]!, 'base64')]
  return { ...context, upload: { pieces, contentType: 'image/png', extension: 'png' } }
}

/** For whom a test asks. */
export const callerUntil = (signal: AbortSignal, account = 'somebody'): Caller => ({
  account: account as AccountId,
  signal,
})

const short: Patience = { headersMs: 200, bodyMs: 200 }

/** Short time-outs, for tests with a silent upstream. None to connect: a process that stood still has not connected. */
export const HASTY: Timeouts = {
  connectMs: 10_000,
  ...mapKinds(() => short),
  stream: short,
  submit: short,
  poll: short,
}

/** What the sandbox does at these words in a request, and as what a call that is answered once fails then. */
export const FAILURES: [words: string, kind: FailureKind][] = [
  ['[status 400]', 'rejected'],
  ['[quota]', 'not_served'],
  ['[status 503]', 'overloaded'],
  ['[fail]', 'unknown'],
  ['[reset]', 'unknown'],
  ['[garbage]', 'unknown'],
  ['[truncated]', 'unknown'],
  ['[empty]', 'unknown'],
]

let calls = 0

/** A unique prompt, by which the sandbox's reports can be filtered. */
export const promptOf = (words: string): string => `${words} #${(calls += 1)}#`

export type RouteChanges = Partial<Omit<Route, 'upstream'>> & { upstream?: Partial<Upstream> }

/** A route to any upstream. */
export function routeTo(protocol: Protocol, baseUrl: string, { upstream, ...changes }: RouteChanges = {}): Route {
  return {
    upstream: {
      name: 'sandbox',
      protocol,
      baseUrl,
      key: DEFAULT_KEY,
      apiKey: 'made-up',
      keys: [{ name: DEFAULT_KEY, secret: 'made-up', weight: 1 }],
      results: 'store',
      headers: {},
      ...upstream,
    },
    model: 'some/model',
    rename: {},
    drop: [],
    allow: [],
    set: {},
    ...changes,
  }
}

/** What an adapter gets beside the request. */
export const contextOf = (route: Route, signal = new AbortController().signal): UpstreamContext => ({
  route,
  signal,
  callId: 'call_test',
})

/** The adapters and a sandbox that they talk to over HTTP. */
export type World = {
  sandbox: Sandbox
  upstreams: Upstreams
  context: (protocol: Protocol, changes?: RouteChanges, signal?: AbortSignal) => UpstreamContext
  close: () => Promise<void>
}

export async function startWorld(deps: Partial<UpstreamDeps> = {}): Promise<World> {
  const sandbox = await createSandbox({ videoSeconds: 0.02, imageSeconds: 0.02 })
  const upstreams = createUpstreams({ accountShare: 1, backoffMs: 20, ...deps })
  return {
    sandbox,
    upstreams,
    context: (protocol, changes, signal) =>
      contextOf(routeTo(protocol, `${sandbox.url}${BASES[protocol]}`, changes), signal),
    close: async () => {
      await upstreams.close()
      await sandbox.close()
    },
  }
}

/** The world of a suite. */
export function useWorld(deps?: Partial<UpstreamDeps>): World {
  const world = {} as World
  before(async () => {
    Object.assign(world, await startWorld(deps))
  })
  after(() => world.close())
  return world
}

/** A chat request with this last message of the user. */
export const chatOf = (content: unknown, more: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  max_tokens: 100,
  ...more,
})

/** The UpstreamError that work fails with. Anything else fails the test. */
export async function failureOf(work: Promise<unknown>): Promise<UpstreamError> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome && outcome.error instanceof UpstreamError) return outcome.error
  throw new Error(`expected an UpstreamError, got ${JSON.stringify(outcome)}`, {
    cause: 'error' in outcome ? outcome.error : undefined,
  })
}

/** All events of a stream, and the error that it may end with. */
export async function drained(
  read: (take: TakeEvent) => Promise<void>,
): Promise<{ events: ChatEvent[]; error: UpstreamError | null }> {
  const seen: ChatEvent[] = []
  try {
    await read((event) => seen.push(event))
    return { events: seen, error: null }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { events: seen, error }
  }
}

type Choice = { index: number; delta: Record<string, unknown>; finish_reason: string | null }

/** The first choice of every chunk. */
export const choicesOf = (events: ChatEvent[]): Choice[] =>
  events.flatMap((event) => (event.type === 'frame' ? [(event.frame.choices as Choice[])[0]!] : []))

/** The text of all chunks of a stream. */
export const textOf = (events: ChatEvent[]): string =>
  choicesOf(events)
    .map(({ delta }) => (delta.content ?? '') as string)
    .join('')

type Message = {
  content: string | null
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[]
  [field: string]: unknown
}

/** The first choice of a whole answer. */
export const choiceOf = ({ answer }: ChatResult) =>
  (answer.choices as unknown[])[0] as { index: number; message: Message; finish_reason: string }
