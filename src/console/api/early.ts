/**
 * What the overview asks for, sent before the page's own code has come: a small script of its own, which waits for no
 * style sheet. The page then gets these answers instead of asking again.
 */
import { keptToken } from '../state/kept-token.ts'
import { LATEST, rangeOf } from '../state/overview-range.ts'
import { requestOf, withQuery } from './requests.ts'

type Sent = { token: string; response: Promise<Response> }

/** By path and query. */
const sent = new Map<string, Sent>()

/** The answer to a GET that was sent early with this token, once; undefined where there is none. */
export function takeEarly(path: string, token: string | null): Promise<Response> | undefined {
  const early = sent.get(path)
  sent.delete(path)
  return early?.token === token ? early?.response : undefined
}

/** Sends what the page of this address asks for first, the slowest answers before the others. */
function sendEarly(): void {
  const token = keptToken()
  if (token === null || location.pathname !== '/overview') return
  const range = rangeOf(Object.fromEntries(new URLSearchParams(location.search)))
  const paths = [
    withQuery('/api/usage', range),
    withQuery('/api/usage/latency', range),
    withQuery('/api/calls', { limit: String(LATEST) }),
    '/api/account',
    '/api/keys',
  ]
  for (const path of paths) {
    const response = fetch(path, requestOf('GET', token))
    // Whoever takes it says what went wrong.
    response.catch(() => {})
    sent.set(path, { token, response })
  }
}

sendEarly()
