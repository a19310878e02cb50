import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { ownMb } from '../../scripts/harness/memory.ts'
import { until } from '../../scripts/harness/until.ts'

/**
 * Another client, in a thread of its own, so that this one's work does not count. It asks for /healthz again and again,
 * and answers each message with how many answers it got since the last one, and how long the process blocked the
 * slowest of them, in ms: the time that it took, but no more than the CPU time of the process's main thread meanwhile
 * (from /proc, in steps of 10 ms). What blocks an event loop uses its CPU; what other programs take does not count.
 */
const CLIENT = `
  const { readFileSync } = require('node:fs')
  const { parentPort, workerData: { url, pid } } = require('node:worker_threads')
  let [answers, ms] = [0, 0]
  parentPort.on('message', () => {
    parentPort.postMessage({ answers, ms })
    answers = ms = 0
  })
  const cpuMs = () => {
    const fields = readFileSync('/proc/' + pid + '/task/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')
    return 10 * (Number(fields[11]) + Number(fields[12]))
  }
  const run = async () => {
    for (;;) {
      const [askedAt, before] = [performance.now(), cpuMs()]
      await (await fetch(url)).text()
      ms = Math.max(ms, Math.min(performance.now() - askedAt, cpuMs() - before))
      answers += 1
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  run()
`

/** The first requests of a process are slower. */
const WARM = 20

/** How many answers the other client waits for, however slow the machine is. */
const ENOUGH = 4

/** The most memory that a process had, in MB, and for how long it blocked another client, in ms. */
export type Watched = { mb: number; ms: number }

/** Watches a process while something is done. */
export async function watched(
  { url, pid }: { url: string; pid: number },
  work: () => Promise<unknown>,
): Promise<Watched> {
  const client = new Worker(CLIENT, { eval: true, workerData: { url: `${url}/healthz`, pid } })
  let answers = 0
  let ms = 0
  const isAnswered = (count: number) => async (): Promise<boolean> => {
    client.postMessage('seen')
    const [seen] = (await once(client, 'message')) as [{ answers: number; ms: number }]
    answers += seen.answers
    ms = Math.max(ms, seen.ms)
    return answers >= count
  }
  await until('the process to be warm', isAnswered(WARM))
  answers = ms = 0
  let mb = 0
  const looking = setInterval(() => {
    mb = Math.max(mb, ownMb(pid))
  }, 20)
  try {
    await work()
    await until('enough answers', isAnswered(ENOUGH))
    return { mb, ms }
  } finally {
    clearInterval(looking)
    await client.terminate()
  }
}
