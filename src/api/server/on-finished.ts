/**
 * The end of an answer, however it comes.
 */
import type { Context } from 'koa'

const ENDING = Symbol('what is to happen at the end of an answer')

/** An answer with one pair of listeners, for all that are notified of its end. */
type Watched = Context['res'] & { [ENDING]?: (() => void)[] }

/**
 * Runs `then` once, when an answer was sent or its connection was closed. The answer to a pipelined request that still
 * waits for its turn is not notified of the end of its connection, so the connection is watched too.
 */
export function onFinished({ req: { socket }, res }: { req: Context['req']; res: Watched }, then: () => void): void {
  if (res.closed || socket.destroyed) return then()
  if (res[ENDING]) {
    res[ENDING].push(then)
    return
  }
  const ending = (res[ENDING] = [then])
  const over = (): void => {
    res.off('close', over)
    socket.off('close', over)
    for (const one of ending.splice(0)) one()
  }
  res.on('close', over)
  socket.on('close', over)
}
