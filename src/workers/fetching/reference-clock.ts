/**
 * How long the images of one call may take to fetch, and how slowly they may come. The clock runs only while they are
 * fetched: not while the call waits for memory or for its upstream.
 */
import { FetchFailed } from './failure.ts'

/** What the images of a call may take. Times in ms; `bytesPerSecond` is asked of each after `graceMs` of its body. */
export type ReferencePace = { totalMs: number; bytesPerSecond: number; graceMs: number }

/** How often the pace is checked, in ms. */
const CHECK_EVERY_MS = 250

/** A body that is being read: how far, and since when. */
type Body = { bytes: number; since: number }

/** The clock of one call's images. */
export class ReferenceClock {
  private readonly pace: ReferencePace
  private readonly ending = new AbortController()
  private readonly bodies = new Set<Body>()
  private readonly stopFollowing: () => void
  private spentMs = 0
  private startedAt: number | null = null
  private timer: NodeJS.Timeout | undefined

  /** @param call ends everything, with its reason */
  constructor(pace: ReferencePace, call: AbortSignal) {
    this.pace = pace
    const follow = (): void => this.ending.abort(call.reason)
    if (call.aborted) follow()
    else call.addEventListener('abort', follow, { once: true })
    this.stopFollowing = () => call.removeEventListener('abort', follow)
  }

  /** Aborts with the call, or with a `FetchFailed` once the images are too slow. */
  get signal(): AbortSignal {
    return this.ending.signal
  }

  /** Does something while the clock runs. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.start()
    try {
      return await work()
    } finally {
      this.stop()
    }
  }

  /** Waits for something that the servers do not cause, while the clock is stopped. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    this.stop()
    try {
      return await work()
    } finally {
      this.start()
    }
  }

  /** The pieces of a body, whose pace is watched. */
  async *watched(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    const body: Body = { bytes: 0, since: this.elapsedMs() }
    this.bodies.add(body)
    try {
      for await (const piece of pieces) {
        body.bytes += piece.length
        yield piece
      }
    } finally {
      this.bodies.delete(body)
    }
  }

  /** Ends all downloads, with this reason. */
  end(reason: Error): void {
    this.ending.abort(reason)
  }

  /** Nothing is fetched any more. */
  close(): void {
    this.stop()
    this.stopFollowing()
  }

  private elapsedMs(): number {
    return this.spentMs + (this.startedAt === null ? 0 : performance.now() - this.startedAt)
  }

  private start(): void {
    if (this.startedAt !== null) return
    this.startedAt = performance.now()
    this.timer = setInterval(() => this.check(), CHECK_EVERY_MS).unref()
  }

  private stop(): void {
    this.spentMs = this.elapsedMs()
    this.startedAt = null
    clearInterval(this.timer)
  }

  private check(): void {
    const { totalMs, bytesPerSecond, graceMs } = this.pace
    const now = this.elapsedMs()
    const isSlow = ({ bytes, since }: Body): boolean => bytes < ((now - since - graceMs) * bytesPerSecond) / 1000
    if (now < totalMs && ![...this.bodies].some(isSlow)) return
    this.ending.abort(new FetchFailed('timeout', 'The server took too long.', { retryable: true }))
  }
}
