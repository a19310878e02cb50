import { readFileSync } from 'node:fs'

const MEGABYTE = 1024 * 1024
const PAGE_BYTES = 4096

/** Resident memory of a process of this machine (Linux), without its children, in MB. */
export const ownMb = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES) / MEGABYTE

/** The most by which a process grows while something is done, in MB. */
export async function growthOf(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = ownMb(pid)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, ownMb(pid))
  }, 10)
  await work()
  clearInterval(timer)
  return most - before
}
