import { Tally } from './tally.ts'

/** What is told of a request in progress; read when it is asked for, so that a prompt learned later shows. */
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
  /** Requests whose client left before the answer had ended. */
  readonly aborted: number
  /** Connections that `[refuse]` reset. */
  readonly refused: number
}

/** Which requests are in progress, and how many were left by their clients. */
export class Traffic {
  /** Requests whose client left before the answer had ended. */
  readonly aborted = new Tally()
  /** Connections that were reset unrecorded. */
  readonly refused = new Tally()
  private readonly exchanges = new Set<Ongoing>()

  /** Counts a request as in progress until it leaves. */
  enter(exchange: Ongoing): void {
    this.exchanges.add(exchange)
  }

  /** Counts a request as ended, whichever way. */
  leave(exchange: Ongoing): void {
    this.exchanges.delete(exchange)
  }

  /** What goes on now; with `prompt`, only requests whose prompt holds it. */
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
