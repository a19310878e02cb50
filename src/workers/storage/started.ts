/** A first piece that nobody reads: it only brings a generator behind its first `yield`. */
export const NOTHING = new Uint8Array(0)

/**
 * Starts a generator whose first piece is `NOTHING`. Closing a generator that was never started runs none of its
 * code: without this, bytes that nobody begins to read would keep their socket or file open.
 */
export async function started<T extends AsyncGenerator<Uint8Array, void, void>>(generator: T): Promise<T> {
  await generator.next()
  return generator
}
