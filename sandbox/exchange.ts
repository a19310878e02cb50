import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Body } from './http/body.ts'
import type { BilledEntry } from './records/billing.ts'
import type { JournalEntry } from './records/journal.ts'
import type { State } from './state.ts'
import type { Steering } from './steering.ts'
import type { Fault } from './wire.ts'

/** The paid work that a request asks for. The prompt also steers the sandbox. */
interface Submission {
  readonly model: string
  readonly prompt: string
}

/** One endpoint. `path` may hold `:name` segments and end in an optional `/*`. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** Present on the endpoints that submit paid work. */
  readonly submission?: (body: Body, params: Readonly<Record<string, string>>) => Submission
  readonly handle: (exchange: Exchange) => Promise<void> | void
}

/** A wire protocol: its endpoints, how it carries keys, and how it words errors. */
export interface Protocol {
  readonly name: string
  /** Returns the key of a request, or undefined if it has none. A protocol without this function is public. */
  readonly keyOf?: (headers: IncomingHttpHeaders) => string | undefined
  /** The body (and headers) of an error answer. */
  readonly envelope: (fault: Fault) => { readonly body: unknown; readonly headers?: Record<string, string> }
  /** What a request with a wrong key gets, or without one; 401 if absent. */
  readonly wrongKey?: Fault
  /** What `[quota]` answers. */
  readonly outOfCredit: Fault
  readonly routes: readonly Route[]
}

/** One request and its answer, with all that a handler needs. */
export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly state: State
  readonly protocol: Protocol
  readonly path: string
  readonly query: URLSearchParams
  readonly params: Readonly<Record<string, string>>
  readonly startedAt: number
  body: Body
  model: string
  prompt: string
  steering: Steering
  /** The journal's entry for this request, where there is one yet. */
  record: JournalEntry | undefined
  /** The entry of the bill, once the work was accepted. */
  bill: BilledEntry | undefined
  /** Set where the sandbox itself ends the connection, so that this does not count as a client that disconnected. */
  cutBySandbox: boolean
}

/** The origin at which the client reached the sandbox. The sandbox's own addresses are built on it. */
export function originOf(exchange: Exchange): string {
  return `http://${exchange.req.headers.host ?? '127.0.0.1'}`
}
