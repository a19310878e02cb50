/**
 * What the overview asks for, sent before the page's own code has come: a small script of its own, which waits for no
 * style sheet. The page then gets these answers instead of asking again.
 */
import { keptToken } from '../state/kept-token.ts'
import { LATEST, rangeOf } from '../state/overview-range.ts'
import { requestOf, withQuery } from './requests.ts'

/** What a request needs of an answer. */
export type Answer = Pick<Response, 'ok' | 'status' | 'headers' | 'json'>

type Sent = { token: string; answer: Promise<Answer> }

/** By path and query. */
const sent = new Map<string, Sent>()

const all: Promise<Answer>[] = []

/** The answer to a GET that was sent early with this token, once; undefined where there is none. */
export function takeEarly(path: string, token: string | null): Promise<Answer> | undefined {
  const early = sent.get(path)
  sent.delete(path)
  return early?.token === token ? early?.answer : undefined
}

/** Settles when everything that was sent early was answered or failed, taken or not; undefined where nothing was. */
export const earlyAnswers = (): Promise<unknown> | undefined => (all.length === 0 ? undefined : Promise.allSettled(all))

/** Sends a GET, and reads its answer as soon as it comes: who asks for the body later finds it read. */
async function answered(path: string, token: string): Promise<Answer> {
  const response = await fetch(path, requestOf('GET', token))
  const { ok, status, headers } = response
  const body: unknown = await response.json()
  return { ok, status, headers, json: () => Promise.resolve(body) }
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
    '/api/grants',
  ]
  for (const path of paths) {
    const answer = answered(path, token)
    // Whoever takes it says what went wrong.
    answer.catch(() => {})
    sent.set(path, { token, answer })
    all.push(answer)
  }
}

sendEarly()
