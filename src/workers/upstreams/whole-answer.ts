/**
 * An answer that is read whole, straight from its connection. undici's own `request` makes a stream of each answer, and
 * an asynchronous resource: that costs as much as the rest of a short request (docs/performance.md#what-paid).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { AnswerTooLong } from './adapter.ts'
import { malformedAnswer } from './failures.ts'
import type { StopSignal } from '../stop.ts'

/** An answer with its body, or with as much as is read of an error's. */
export type WholeAnswer = { status: number; headers: IncomingHttpHeaders; bytes: Uint8Array }

/** The most that is read of an answer, in bytes, and whether what was read of a longer one is of use. */
export type Bound = { maxBytes: number; isChat: boolean }

/** How much of an error's body is read, in bytes: enough for what it says. */
export const MAX_ERROR_BYTES = 64 * 1024

/** Whether a status is that of an answer, and not of an error. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** The pieces of one body. */
export class Gathered {
  private readonly pieces: Uint8Array[] = []
  private size = 0
  private readonly bound: Bound

  constructor(bound: Bound) {
    this.bound = bound
  }

  /** @throws UpstreamError `unknown` for more than the bound: AnswerTooLong for a chat */
  add(piece: Uint8Array): void {
    const { maxBytes, isChat } = this.bound
    this.size += piece.length
    this.pieces.push(piece)
    if (this.size <= maxBytes) return
    const message = `the answer is larger than ${maxBytes} bytes`
    if (!isChat) throw malformedAnswer(message)
    // A character may be cut at the end, which is no fault of the upstream's.
    throw new AnswerTooLong(
      message,
      new TextDecoder().decode(Buffer.concat(this.pieces).subarray(0, maxBytes), { stream: true }),
    )
  }

  /** What has come so far. */
  bytes(): Uint8Array {
    return this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces)
  }

  /** How much that is, in bytes. */
  get length(): number {
    return this.size
  }
}

/**
 * Sends a request and reads its answer. Of an error everything is kept that comes before it is long enough, or cut off:
 * its status is known, so nothing that happens to its body is a failure of its own.
 * @throws what undici says, the signal's reason, or what `Gathered` says of an answer that is too long
 */
export function requestWhole(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: StopSignal,
  bound: Bound,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new Reader(signal, bound, resolve, reject))
  })
}

class Reader implements Dispatcher.DispatchHandler {
  private readonly signal: StopSignal
  private readonly gathered: Gathered
  private readonly resolve: (answer: WholeAnswer) => void
  private readonly reject: (error: unknown) => void
  private controller: Dispatcher.DispatchController | undefined
  private answer: Omit<WholeAnswer, 'bytes'> | undefined
  private readonly stop = (): void => this.controller?.abort(this.signal.reason as Error)

  constructor(
    signal: StopSignal,
    bound: Bound,
    resolve: (answer: WholeAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.signal = signal
    this.gathered = new Gathered(bound)
    this.resolve = resolve
    this.reject = reject
    signal.addEventListener('abort', this.stop, { once: true })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.signal.aborted) this.stop()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.answer = { status, headers }
    if (!isSuccess(status) && Number(headers['content-length'] ?? 0) > MAX_ERROR_BYTES) this.cutOff(controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    try {
      this.gathered.add(piece)
      if (!isSuccess(this.answer!.status) && this.gathered.length > MAX_ERROR_BYTES) this.cutOff(controller)
    } catch (error) {
      controller.abort(error as Error)
    }
  }

  onResponseEnd(): void {
    this.signal.removeEventListener('abort', this.stop)
    this.resolve({ ...this.answer!, bytes: this.gathered.bytes() })
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.answer && !isSuccess(this.answer.status)) return this.onResponseEnd()
    this.signal.removeEventListener('abort', this.stop)
    this.reject(error)
  }

  /** Reads no more of an error: its connection is closed, and what has come is what there is. */
  private cutOff(controller: Dispatcher.DispatchController): void {
    controller.abort(new Error('enough of an error was read'))
  }
}
