import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropicProtocol } from './anthropic/protocol.ts'
import { control, isControl } from './control.ts'
import type { Exchange } from './exchange.ts'
import { falProtocol } from './fal/protocol.ts'
import { geminiProtocol } from './gemini/protocol.ts'
import { answerFault } from './http/answer.ts'
import { NO_BODY, readBody } from './http/body.ts'
import { Router } from './http/router.ts'
import type { Match } from './http/router.ts'
import { filesProtocol } from './media/files.ts'
import { openaiProtocol } from './openai/protocol.ts'
import { openrouterProtocol } from './openrouter/protocol.ts'
import type { BilledReport } from './records/billing.ts'
import type { JournalLine } from './records/journal.ts'
import { shorten } from './records/shorten.ts'
import type { TrafficReport } from './records/traffic.ts'
import { replicateProtocol } from './replicate/protocol.ts'
import { createState } from './state.ts'
import type { Durations, State } from './state.ts'
import { MalformedWord, readSteering, UNSTEERED } from './steering.ts'
import { stripeControls, workControl } from './stripe/controls.ts'
import type { ControlName, ControlRequest } from './stripe/controls.ts'
import { keepIn } from './stripe/keeping.ts'
import type { Kinds } from './stripe/objects.ts'
import { stripePages } from './stripe/pages.ts'
import { stripeProtocol } from './stripe/protocol.ts'
import { accountOfKey } from './stripe/secret-key.ts'
import { Refusal } from './wire.ts'
import type { Fault } from './wire.ts'

/** Where a sandbox listens, and how long its work takes by default. */
export interface SandboxOptions extends Partial<Durations> {
  /** Default 0: any free port. */
  readonly port?: number
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Where the accounts at Stripe outlive the process; default: nowhere. */
  readonly stripeFile?: string
}

/** A running sandbox. The reports are those of `/sandbox/…`; `prompt` filters them by substring. */
export interface Sandbox {
  readonly url: string
  readonly port: number
  readonly billed: (prompt?: string) => BilledReport
  readonly journal: (prompt?: string) => JournalLine[]
  readonly open: (prompt?: string) => TrafficReport
  /** What the Stripe account of a secret key has of a kind, newest first. Throws a `Refusal` for a key of none. */
  readonly stripeObjects: <K extends keyof Kinds>(key: string, kind: K) => readonly Kinds[K][]
  /** Works a control of that account, as its request does. Throws a `Refusal`. */
  readonly stripeControl: (key: string, name: ControlName, asked?: ControlRequest) => unknown
  /** Lets work go on that `[hold]` holds; returns how many calls that were. */
  readonly release: (prompt?: string) => number
  /** Stops listening and drops every connection, even one that hangs. */
  readonly close: () => Promise<void>
}

const PROTOCOLS = [
  openaiProtocol,
  anthropicProtocol,
  geminiProtocol,
  falProtocol,
  replicateProtocol,
  openrouterProtocol,
  filesProtocol,
  stripeProtocol,
  stripePages,
  stripeControls,
]
const ROUTER = new Router(PROTOCOLS)
const KEEP_ALIVE_MS = 65_000
const JOURNALED_WHOLE_BYTES = 64 * 1024

/**
 * Starts a sandbox upstream.
 * @throws the system's error where the port is not available, or the file of Stripe's accounts cannot be read
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = '127.0.0.1', videoSeconds = 2, imageSeconds = 0.5 } = options
  const state = createState({ videoSeconds, imageSeconds })
  if (options.stripeFile) keepIn(options.stripeFile, state.stripe)
  const server = createServer((req, res) => receive(state, req, res))
  // A pooled client must not use a connection at the moment it is closed.
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const address = await listen(server, port, host)
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  return {
    url,
    port: address.port,
    billed: (prompt) => state.billing.report(prompt),
    journal: (prompt) => state.journal.lines(prompt),
    open: (prompt) => state.traffic.report(prompt),
    stripeObjects: (key, kind) => accountOfKey(state.stripe, key).objects.list(kind),
    stripeControl: (key, name, asked = {}) => {
      const answer = workControl(accountOfKey(state.stripe, key), name, asked, url)
      state.stripe.changed()
      return answer
    },
    release: (prompt = '') => state.holds.release(prompt),
    close: () =>
      new Promise((resolve) => {
        state.stripe.stop()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve(server.address() as AddressInfo)
    })
  })
}

function receive(state: State, req: IncomingMessage, res: ServerResponse): void {
  const url = req.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  if (isControl(path)) {
    control(state, { req, res, path, query })
    return
  }
  const match = ROUTER.find(req.method ?? 'GET', path)
  if (!match) {
    req.resume()
    const message = `The sandbox has no ${req.method} ${path}.`
    res.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
    return
  }
  const exchange = openExchange(state, match, { req, res, path, query })
  serve(exchange, match).catch((failure: unknown) => answerFailure(exchange, failure))
}

function openExchange(state: State, match: Match, wire: Pick<Exchange, 'req' | 'res' | 'path' | 'query'>): Exchange {
  const exchange: Exchange = {
    ...wire,
    state,
    protocol: match.protocol,
    params: match.params,
    startedAt: Date.now(),
    body: NO_BODY,
    model: '',
    prompt: '',
    steering: UNSTEERED,
    record: undefined,
    bill: undefined,
    cutBySandbox: false,
  }
  state.traffic.enter(exchange)
  wire.res.once('close', () => endExchange(exchange))
  return exchange
}

function endExchange(exchange: Exchange): void {
  const { state, res, record, bill, cutBySandbox } = exchange
  const whole = res.writableFinished
  state.traffic.leave(exchange)
  if (!whole && !cutBySandbox) state.traffic.aborted.add(exchange.prompt)
  if (record) record.status = res.headersSent ? res.statusCode : 0
  if (bill?.outcome === 'accepted') bill.outcome = whole ? 'answered' : cutBySandbox ? 'lost' : 'aborted'
}

async function serve(exchange: Exchange, { route, params }: Match): Promise<void> {
  const { req, protocol } = exchange
  exchange.body = route.method === 'POST' ? await readBody(req) : NO_BODY
  if (route.method !== 'POST') req.resume()
  const submission = route.submission?.(exchange.body, params)
  if (submission) {
    Object.assign(exchange, submission)
    exchange.steering = steeringOf(submission.prompt)
    if (exchange.steering.refuse) return refuse(exchange)
  }
  journal(exchange)
  if (protocol.keyOf) checkKey(exchange, protocol.keyOf(req.headers))
  await route.handle(exchange)
}

function steeringOf(prompt: string): Exchange['steering'] {
  try {
    return readSteering(prompt)
  } catch (failure) {
    if (!(failure instanceof MalformedWord)) throw failure
    throw new Refusal({ status: 400, message: `The sandbox: ${failure.message}` })
  }
}

function refuse(exchange: Exchange): void {
  exchange.cutBySandbox = true
  exchange.state.traffic.refused.add(exchange.prompt)
  exchange.req.socket.resetAndDestroy()
}

function journal(exchange: Exchange): void {
  const { req, body, protocol, path, model, prompt, state } = exchange
  const fields = body.size > JOURNALED_WHOLE_BYTES ? shorten(body.fields) : body.fields
  const files = body.files.map(({ field, name, type, bytes }) => ({ field, name, type, bytes: bytes.length }))
  exchange.record = {
    at: exchange.startedAt,
    protocol: protocol.name,
    method: req.method ?? '',
    path,
    headers: req.headers,
    body: body.form ? { fields, files } : fields,
    model,
    prompt,
    status: undefined,
  }
  state.journal.add(exchange.record)
}

/** The windows of the limit that a key names, in seconds. */
const LIMIT_SECONDS = 10

/** A key is what the words in it say: bad, without credit, or limited to some requests in each ten seconds. */
function checkKey({ state, protocol, startedAt }: Exchange, key: string | undefined): void {
  if (key === undefined || key.includes('bad')) {
    const message = key === undefined ? 'You did not provide an API key.' : 'Incorrect API key provided.'
    throw new Refusal(protocol.wrongKey ?? { status: 401, message })
  }
  if (key.includes('empty')) throw new Refusal(protocol.outOfCredit)
  const most = /limited-(\d{1,6})/.exec(key)?.[1]
  if (most === undefined) return
  const seconds = startedAt / 1000
  if (state.attempts.add(`${key} ${Math.floor(seconds / LIMIT_SECONDS)}`) <= Number(most)) return
  const headers = { 'retry-after': String(Math.ceil(LIMIT_SECONDS - (seconds % LIMIT_SECONDS))) }
  throw new Refusal({ status: 429, message: 'Rate limit reached for this key.', headers })
}

function answerFailure(exchange: Exchange, failure: unknown): void {
  const { res } = exchange
  if (failure instanceof Refusal && !res.headersSent) return answerFault(exchange, failure.fault)
  // A client that disconnected within its request is not a defect; any other error here is.
  if (res.destroyed) return
  console.error(failure)
  const fault: Fault = { status: 500, message: 'The sandbox has a defect.' }
  if (res.headersSent) res.destroy()
  else answerFault(exchange, fault)
}
