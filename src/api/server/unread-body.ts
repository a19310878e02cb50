/**
 * The rest of a body that is refused before it has come. A connection that ends while its client still sends is reset,
 * and most clients then never read the answer, but send all of it again.
 */
import type { IncomingMessage } from 'node:http'

/** The most that is read of the rest of a body: in bytes, in ms, and in ms since its last byte. */
const MOST = { bytes: 128 * 1024 * 1024, ms: 10_000, idleMs: 2_000 }

/** Reads the rest of a body, and drops it. Resolves when it has ended, or at these limits. */
export function readAway(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      idle.refresh()
      if (bytes > MOST.bytes) end()
    }
    const end = (): void => {
      clearTimeout(idle)
      clearTimeout(whole)
      req.off('data', onData).off('end', end).off('close', end)
      resolve()
    }
    const idle = setTimeout(end, MOST.idleMs)
    const whole = setTimeout(end, MOST.ms)
    req.on('data', onData).on('end', end).on('close', end)
    req.resume()
  })
}
