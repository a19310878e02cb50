/**
 * The end of an answer, however it comes.
 */
import type { Context } from 'koa'

/**
 * Runs `then` once, when an answer was sent or its connection has gone. The answer to a pipelined request that still
 * waits for its turn is not notified of the end of its connection, so the connection is checked too.
 */
export function whenOver({ req: { socket }, res }: Pick<Context, 'req' | 'res'>, then: () => void): void {
  let isOver = false
  const over = (): void => {
    if (isOver) return
    isOver = true
    res.off('close', over)
    socket.off('close', over)
    then()
  }
  if (res.closed || socket.destroyed) return over()
  res.once('close', over)
  socket.once('close', over)
}
