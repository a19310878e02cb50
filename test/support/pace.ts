/**
 * The CPU time of some work as a share of other work's, done in turns: what the machine is busy with, and how fast it
 * is, counts for both. The least of several times is taken of each.
 */
export function cpuRatio(work: () => unknown, yardstick: () => unknown, times = 5): number {
  let [least, leastOther] = [Infinity, Infinity]
  for (let time = 0; time < times; time++) {
    leastOther = Math.min(leastOther, cpuMicros(yardstick))
    least = Math.min(least, cpuMicros(work))
  }
  return least / leastOther
}

function cpuMicros(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return Math.max(1, user + system)
}
