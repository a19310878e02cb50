import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'

/** Whether the CPU time of one thread is known here: on Linux alone. */
export const knowsTurns = process.platform === 'linux'

/** The CPU ms of the longest turn that this thread's event loop takes while some work is done. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let isOver = false
  const over = work().finally(() => {
    isOver = true
  })
  let longest = 0
  for (let before = ownCpuMs(); !isOver;) {
    await setImmediate()
    const now = ownCpuMs()
    longest = Math.max(longest, now - before)
    before = now
  }
  await over
  return longest
}

/** CPU time of this thread, in ms. */
const ownCpuMs = (): number => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
