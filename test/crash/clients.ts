import { setTimeout as sleep } from 'node:timers/promises'
import type { Reply } from '../../scripts/harness/http.ts'
import { post } from '../../scripts/harness/http.ts'
import { inSoak } from './scale.ts'

/** The outcome of one request. `ms`: how long it took. */
export type ClientOutcome = { at: number; ms: number; status: number; reply: Reply | null; error: string }

/** A request. `path`: below `/v1`, unless it begins with a slash. */
export type Asked = { path: string; body: object; headers?: Record<string, string> }

/** A request of a client, by its number. */
export type Ask = (nth: number) => Asked

/** How long a client waits before its next request, in ms: in the soak not at all, unless it was refused. */
const PAUSE_MS = 50

/** Sends requests continuously, a fixed number at a time, until it is stopped. */
export class Crowd {
  readonly outcomes: ClientOutcome[] = []
  private stopped = false
  private readonly loops: Promise<void>[]

  /** @param url is asked for each request anew, so that a test can direct the load. */
  constructor(size: number, url: () => string, key: string, ask: Ask) {
    let nth = 0
    this.loops = Array.from({ length: size }, async () => {
      while (!this.stopped) {
        const outcome = await callOnce(url(), key, ask(nth++))
        this.outcomes.push(outcome)
        // Without a pause, clients that are refused at once would flood the service.
        if (!inSoak || outcome.status === 0 || outcome.status === 503) await sleep(PAUSE_MS)
      }
    })
  }

  /** Waits for the requests in progress, and returns all outcomes. */
  async stop(): Promise<ClientOutcome[]> {
    this.stopped = true
    await Promise.all(this.loops)
    return this.outcomes
  }
}

/** Sends one request and waits for its answer. A broken connection counts as status 0. */
export async function callOnce(url: string, key: string, { path, body, headers }: Asked): Promise<ClientOutcome> {
  const at = Date.now()
  const startedAt = performance.now()
  try {
    const reply = await post(`${url}${path.startsWith('/') ? path : `/v1/${path}`}`, key, body, headers)
    return { at, ms: performance.now() - startedAt, status: reply.status, reply, error: '' }
  } catch (error) {
    const { message, cause } = error as Error
    return { at, ms: performance.now() - startedAt, status: 0, reply: null, error: `${message}: ${String(cause)}` }
  }
}

/** A chat of the sandbox's, with its steering words. */
export const chat = (words: string, more: object = {}) => ({
  path: 'chat/completions',
  body: { model: 'sandbox-chat', messages: [{ role: 'user', content: words }], ...more },
})

/** An image of the sandbox's. */
export const image = (prompt: string, more: object = {}) => ({
  path: 'images/generations',
  body: { model: 'sandbox-image', prompt, ...more },
})

/** A video of the sandbox's. */
export const video = (prompt: string) => ({ path: 'videos/generations', body: { model: 'sandbox-video', prompt } })

/** A ranking of the sandbox's. */
export const ranking = (query: string) => ({
  path: 'rerank',
  body: { model: 'sandbox-rerank', query, documents: ['a', 'b'] },
})

/** How often each status was answered, as text. */
export function statuses(outcomes: readonly ClientOutcome[]): string {
  const counts = new Map<number, number>()
  for (const { status } of outcomes) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')
}

/** The median, in ms. */
export const medianOf = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
