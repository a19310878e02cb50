import type { IncomingHttpHeaders } from 'node:http'
import { shorten } from './shorten.ts'

/** One request as it was received. `status` is set when its answer has ended (0: no headers were sent). */
export interface JournalEntry {
  readonly at: number
  readonly protocol: string
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  body: unknown
  model: string
  prompt: string
  status: number | undefined
}

/** A journal entry as `GET /sandbox/journal` shows it: keys redacted, time in ISO 8601. */
export type JournalLine = Omit<JournalEntry, 'at'> & { readonly at: string }

const MAX_ENTRIES = 1000
const SECRET_HEADERS = ['authorization', 'x-api-key', 'proxy-authorization', 'cookie']

/** The last 1000 requests, in memory. */
export class Journal {
  private readonly ring: JournalEntry[] = []
  private next = 0

  /** Adds a request, and drops the oldest. */
  add(entry: JournalEntry): void {
    this.ring[this.next] = entry
    this.next = (this.next + 1) % MAX_ENTRIES
  }

  /** The requests, oldest first; with `prompt`, only those whose prompt, or whose task's prompt, contains it. */
  lines(prompt = ''): JournalLine[] {
    const ordered = [...this.ring.slice(this.next), ...this.ring.slice(0, this.next)]
    return ordered
      .filter((entry) => entry.prompt.includes(prompt))
      .map((entry) => ({
        ...entry,
        at: new Date(entry.at).toISOString(),
        headers: withoutSecrets(entry.headers),
        body: shorten(entry.body, Infinity),
      }))
  }

  /** Forgets everything. */
  reset(): void {
    this.ring.length = 0
    this.next = 0
  }
}

function withoutSecrets(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const shown = { ...headers }
  for (const name of SECRET_HEADERS) {
    // The scheme stays readable: tests check whether a client sent Bearer or Key.
    if (typeof shown[name] === 'string') shown[name] = shown[name].replace(/\S+$/, '[redacted]')
  }
  return shown
}
