import { compressorOf, headersOf, quirkedAnswer } from '../chat/quirks.ts'
import type { Exchange } from '../exchange.ts'
import { UNSTEERED, withoutSteering, worded } from '../steering.ts'
import { Refusal } from '../wire.ts'
import type { Fault } from '../wire.ts'
import { cut, pause, writeSteered } from './outlet.ts'

/** How the client gets the result: in the answer, from an address in it, or from a task. */
export type Delivery = 'inline' | 'linked' | 'task'

const GARBAGE = '<!doctype html><html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>'

/**
 * Accepts a valid submission and bills it. Call it once the whole request has been checked.
 * @throws {Refusal} if the model or the steering makes the provider refuse; nothing is billed then.
 */
export async function admit(exchange: Exchange, delivery: Delivery): Promise<void> {
  const { steering, state, protocol } = exchange
  const fault = refusalOf(exchange, delivery)
  if (fault) {
    if (steering.delay) await pause(exchange, steering.delay)
    throw new Refusal({ ...fault, message: worded(exchange, fault.message) })
  }
  // Without choices or images there is nothing to bill. A task is billed with any outcome.
  if (steering.empty && delivery !== 'task') return
  exchange.bill = state.billing.add(protocol.name, exchange.model, exchange.prompt)
  // A stream and a task are held later.
  if (!steering.hold || delivery === 'task' || exchange.body.fields['stream'] === true) return
  const hold = state.holds.add(exchange.prompt)
  exchange.res.once('close', hold.drop)
  await hold.over
}

function refusalOf(exchange: Exchange, delivery: Delivery): Fault | undefined {
  const { steering, state, protocol, model, prompt } = exchange
  if (model.includes('refusing')) return steeredFault(503)
  if (steering === UNSTEERED) return undefined
  const repeated = steering['fail-times']
  if (repeated && state.attempts.add(`prompt ${prompt}`) <= repeated.times) return steeredFault(repeated.status)
  if (steering.status) return { ...steeredFault(steering.status.status), headers: steering.status.headers }
  if (steering.quota) return protocol.outOfCredit
  if (steering.redirect && delivery === 'inline') {
    return { status: 302, message: 'Found', headers: { location: steering.redirect } }
  }
  if (steering.fail && delivery !== 'task') return steeredFault(500)
  return undefined
}

/** The fault for a status that the prompt asked for. */
export function steeredFault(status: number): Fault {
  return { status, message: `The sandbox was asked to answer ${status}.` }
}

/** Answers with JSON, as steered. */
export async function answer(exchange: Exchange, body: unknown, status = 200): Promise<void> {
  const { quirk } = exchange.steering
  const text = JSON.stringify(quirk ? quirkedAnswer(body, quirk) : body)
  if (exchange.steering === UNSTEERED) return sendJson(exchange, status, text)
  if (!(await beginAnswer(exchange))) return
  exchange.res.writeHead(status, { 'content-type': 'application/json', ...(quirk && headersOf(quirk, 'answer')) })
  if (exchange.steering['hang-body']) return exchange.res.flushHeaders()
  const compress = quirk && compressorOf(quirk)
  if (compress) {
    exchange.res.end(compress(text))
    return
  }
  const whole = exchange.steering.truncated ? text.slice(0, Math.ceil(text.length / 2)) : text
  if (await writeSteered(exchange, whole)) exchange.res.end()
}

/** Answers with a fault in the protocol's own envelope. Steering does not apply. */
export function answerFault(exchange: Exchange, fault: Fault): void {
  const { body, headers } = exchange.protocol.envelope(fault)
  sendJson(exchange, fault.status, JSON.stringify(body), { ...headers, ...fault.headers })
}

/** Does what comes before the answer: a delay, a reset, garbage. Returns false if no answer is to follow. */
export async function beginAnswer(exchange: Exchange): Promise<boolean> {
  const { steering, res } = exchange
  if (steering.delay && !(await pause(exchange, steering.delay))) return false
  if (steering.hang) return false
  if (steering.reset) {
    cut(exchange)
    return false
  }
  if (!steering.garbage) return true
  res
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    .end(steering.quote ? withoutSteering(exchange.prompt) : GARBAGE)
  return false
}

function sendJson(exchange: Exchange, status: number, text: string, headers?: Record<string, string>): void {
  if (exchange.res.destroyed) return
  exchange.res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  exchange.res.end(text)
}
