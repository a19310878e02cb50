import type { IncomingMessage, ServerResponse } from 'node:http'
import { steeringHelp } from './help.ts'
import type { State } from './state.ts'

/** The sandbox's own endpoints, in addition to the protocols. Each answers in JSON; `prompt` filters by substring. */
const ENDPOINTS: Readonly<Record<string, (state: State, prompt: string) => unknown>> = {
  'GET /sandbox/billed': (state, prompt) => state.billing.report(prompt),
  'DELETE /sandbox/billed': (state) => {
    state.billing.reset()
    return { ok: true }
  },
  'GET /sandbox/journal': (state, prompt) => ({ entries: state.journal.lines(prompt) }),
  'DELETE /sandbox/journal': (state) => {
    state.journal.reset()
    return { ok: true }
  },
  'POST /sandbox/release': (state, prompt) => ({ released: state.holds.release(prompt) }),
  'GET /sandbox/open': (state, prompt) => state.traffic.report(prompt),
}

/** Whether a path belongs to the sandbox itself. */
export function isControl(path: string): boolean {
  return path === '/' || path.startsWith('/sandbox')
}

/** Answers a request to the sandbox itself: what it has billed, received and holds open. `/` explains the steering. */
export function control(
  state: State,
  { req, res, path, query }: { req: IncomingMessage; res: ServerResponse; path: string; query: URLSearchParams },
): void {
  // The body is ignored, but an unread one would hold the connection.
  req.resume()
  if (path === '/') {
    res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(steeringHelp())
    return
  }
  const endpoint = ENDPOINTS[`${req.method} ${path}`]
  const body = endpoint ? endpoint(state, query.get('prompt') ?? '') : { error: 'There is no such endpoint.' }
  res.writeHead(endpoint ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
