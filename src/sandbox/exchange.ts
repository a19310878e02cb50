import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Body } from './http/body.ts'
import type { BilledEntry } from './records/billing.ts'
import type { JournalEntry } from './records/journal.ts'
import type { State } from './state.ts'
import type { Steering } from './steering.ts'
import type { Fault } from './wire.ts'

/** What a request asks to be paid for: the model and the prompt, which is also what steers the sandbox. */
export interface Submission {
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
  /** Answers the key of a request; undefined where there is none. A protocol without it is public. */
  readonly keyOf?: (headers: IncomingHttpHeaders) => string | undefined
  /** The body (and headers) of an error answer. */
  readonly envelope: (fault: Fault) => { readonly body: unknown; readonly headers?: Record<string, string> }
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
  /** The journal's line on this request, where it has one yet. */
  record: JournalEntry | undefined
  /** The ledger's line, once the work was accepted. */
  bill: BilledEntry | undefined
  /** Set where the sandbox itself ends the connection, so that it is not taken for a client that left. */
  cutBySandbox: boolean
}

/** The origin under which the client reached the sandbox: its own addresses are built on it. */
export function originOf(exchange: Exchange): string {
  return `http://${exchange.req.headers.host ?? '127.0.0.1'}`
}
