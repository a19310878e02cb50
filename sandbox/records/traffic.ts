import { Tally } from './tally.ts'

/** What is reported of a request in progress. It is read late, so that it has a prompt that was parsed meanwhile. */
export interface Ongoing {
  readonly protocol: { readonly name: string }
  readonly path: string
  readonly prompt: string
  readonly startedAt: number
  readonly req: { readonly method?: string }
  readonly res: { readonly headersSent: boolean }
}

/** What `GET /sandbox/open` answers. */
export interface TrafficReport {
  /** Requests in progress. */
  readonly open: number
  /** Those of them whose answer has begun. */
  readonly streams: number
  readonly requests: readonly {
    readonly protocol: string
    readonly method: string
    readonly path: string
    readonly prompt: string
    readonly ageMs: number
  }[]
  /** Requests whose client disconnected before the answer had ended. */
  readonly aborted: number
  /** Connections that `[refuse]` reset. */
  readonly refused: number
}

/** Which requests are in progress, and from how many the client disconnected. */
export class Traffic {
  /** Requests whose client disconnected before the answer had ended. */
  readonly aborted = new Tally()
  /** Connections that were reset before anything was recorded. */
  readonly refused = new Tally()
  private readonly exchanges = new Set<Ongoing>()

  /** Counts a request as in progress until `leave`. */
  enter(exchange: Ongoing): void {
    this.exchanges.add(exchange)
  }

  /** Counts a request as ended, however it ended. */
  leave(exchange: Ongoing): void {
    this.exchanges.delete(exchange)
  }

  /** What is in progress; with `prompt`, only requests whose prompt contains it. */
  report(prompt = ''): TrafficReport {
    const open = [...this.exchanges].filter((exchange) => exchange.prompt.includes(prompt))
    return {
      open: open.length,
      streams: open.filter((exchange) => exchange.res.headersSent).length,
      requests: open.map((exchange) => ({
        protocol: exchange.protocol.name,
        method: exchange.req.method ?? '',
        path: exchange.path,
        prompt: exchange.prompt,
        ageMs: Date.now() - exchange.startedAt,
      })),
      aborted: this.aborted.of(prompt),
      refused: this.refused.of(prompt),
    }
  }
}
