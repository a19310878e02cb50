/**
 * The bytes of bodies that have not come whole yet. They lie in this process while their client sends the rest, which
 * it may do as slowly as it likes: so they are counted by sender and over the process. The sender of a call is its
 * account, that of anything else the network of its client.
 */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../shared/platform/errors.ts'
import { Quota } from '../endpoint/quota.ts'

const MEGABYTE = 1024 * 1024

/** How many bytes may be held: of slow bodies of one sender, and of all bodies of the process. */
export type BodyBounds = { slowPerSender: number; perProcess: number }

/** Bounds that admit one slow body of the longest that an endpoint takes, in bytes, and four in the process. */
export const bodyBounds = (longest: number): BodyBounds => ({
  slowPerSender: Math.max(8 * MEGABYTE, longest),
  perProcess: Math.max(128 * MEGABYTE, 4 * longest),
})

/** Bounds of forms, whose files are on the disk: they admit two slow ones of the longest, in bytes, and 16 in all. */
export const formBounds = (longest: number): BodyBounds => ({ slowPerSender: 2 * longest, perProcess: 16 * longest })

/**
 * A body is slow when it is not whole after SLOW_TICKS of TICK_MS. Ticks of the event loop are counted and no
 * time: what came while this process was busy must be read before its client counts as slow.
 */
const SLOW_TICKS = 4
const TICK_MS = 500

/** When a client that is refused may come back, in seconds. */
const RETRY_SECONDS = 5

/** A body that is read. `slowBytes` are those of its bytes that are counted as slow. */
type Body = {
  sender: string
  bytes: number
  slowBytes: number
  ticks: number
  refuse: (error: ApiError) => void
}

/**
 * Counts in one process. A client that sends at full speed may send as much in parallel as its rate limit lets it: a
 * sender is limited in slow bodies only. Where the process is full, the sender with the most bytes here loses its
 * largest body.
 */
export class BodyMemory {
  private readonly all: Quota
  private readonly slow: Quota
  private readonly bodies = new Set<Body>()
  private ticking: NodeJS.Timeout | undefined

  constructor({ slowPerSender, perProcess }: BodyBounds) {
    this.all = new Quota({ perAccount: Infinity, perProcess })
    this.slow = new Quota({ perAccount: slowPerSender, perProcess: Infinity })
  }

  /**
   * Counts the bytes of a body that is being read, and ends the reading with an ApiError where they are too many:
   * rate_limited for slow bodies of the sender, overloaded for all of the process.
   * @returns what ends the count: to be called when the reading has ended.
   */
  count(req: IncomingMessage, sender: string): () => void {
    const onData = (chunk: Uint8Array): void => this.add(body, chunk.length)
    const release = (): void => {
      req.off('data', onData)
      this.remove(body)
    }
    const refuse = (error: ApiError): void => {
      release()
      // The reader takes it for an error of its stream, and drops what it has. The rest is discarded.
      if (req.listenerCount('error') > 0) req.emit('error', error)
      req.resume()
    }
    const body: Body = { sender, bytes: 0, slowBytes: 0, ticks: 0, refuse }
    this.bodies.add(body)
    req.on('data', onData)
    this.ticking ??= setInterval(() => this.tick(), TICK_MS).unref()
    return release
  }

  /** How many bytes are counted. */
  bytes(): number {
    return this.all.all()
  }

  private add(body: Body, bytes: number): void {
    while (this.bodies.has(body)) {
      if (this.all.take(body.sender, bytes)) {
        body.bytes += bytes
        return this.boundSlow(body)
      }
      this.greediest(body).refuse(new ApiError('overloaded', { message: FULL, retryAfterSeconds: RETRY_SECONDS }))
    }
  }

  /** Counts a slow body as such, or refuses it. */
  private boundSlow(body: Body): void {
    if (body.ticks < SLOW_TICKS) return
    if (this.slow.take(body.sender, body.bytes - body.slowBytes)) body.slowBytes = body.bytes
    else body.refuse(new ApiError('rate_limited', { message: TOO_SLOW, retryAfterSeconds: RETRY_SECONDS }))
  }

  /** The largest body of the sender with the most bytes here. */
  private greediest(first: Body): Body {
    let most = first
    for (const one of this.bodies) {
      const [mine, its] = [this.all.of(most.sender), this.all.of(one.sender)]
      if (its > mine || (its === mine && one.bytes > most.bytes)) most = one
    }
    return most
  }

  private tick(): void {
    for (const body of this.bodies) {
      body.ticks++
      this.boundSlow(body)
    }
    if (this.bodies.size > 0) return
    clearInterval(this.ticking)
    this.ticking = undefined
  }

  private remove(body: Body): void {
    if (!this.bodies.delete(body)) return
    this.all.give(body.sender, body.bytes)
    this.slow.give(body.sender, body.slowBytes)
  }
}

const TOO_SLOW = 'Too many bytes of your request bodies arrive slowly.'
const FULL = 'Too many bytes of request bodies are arriving. Nothing was charged; try again shortly.'
