/** A first piece that is not read: it only brings a generator past its first `yield`. */
export const NOTHING = new Uint8Array(0)

/**
 * Starts a generator whose first piece is `NOTHING`. Closing a generator that was never started runs none of its
 * code: without this, the socket or file of unread bytes would stay open.
 */
export async function started<T extends AsyncGenerator<Uint8Array, void, void>>(generator: T): Promise<T> {
  await generator.next()
  return generator
}
