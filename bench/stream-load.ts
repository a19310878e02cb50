/**
 * The load of `npm run bench -- --streams`: streams that are opened within a second and read as they come, over raw
 * sockets, in a process of its own. It reads only the moments that the upstream writes into its chunks
 * (bench/upstream.ts).
 *
 * Run as a child: it gets one JSON job on its command line, and prints one JSON result.
 */
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { quantilesOf, requestBytes } from './load.ts'

/** `streams` requests, opened within `openMs`; what comes `fromMs` to `toMs` after the first of them is counted. */
export type StreamJob = {
  host: string
  port: number
  path: string
  headers: Record<string, string>
  body: string
  streams: number
  openMs: number
  fromMs: number
  toMs: number
}

/**
 * Chunks that came in the counted time, and how long after their upstream wrote them; how long after its request the
 * first chunk of a stream came; in ms. `whole`: streams that came to their end. `failed`: what the first that did not
 * begin was answered.
 */
export type StreamResult = {
  chunks: number
  p50: number
  p99: number
  firstP50: number
  firstP99: number
  whole: number
  failed: string | null
}

/** The file that a child process runs. */
export const streamLoadProgram = fileURLToPath(import.meta.url)

/** When a chunk was written, by the clock that all processes of a machine share. */
const WRITTEN_AT = /@(\d+)@/g

/** How long after the counted time the last end of a stream is waited for, in ms. */
const REST_MS = 10_000

async function run(job: StreamJob): Promise<StreamResult> {
  const request = requestBytes(job)
  const delays: number[] = []
  const firsts: number[] = []
  let [whole, failed] = [0, null as string | null]
  const began = performance.now()
  const open = () =>
    new Promise<void>((ended) => {
      let sentAt = 0
      let isFirst = true
      const socket = connect(job.port, job.host)
      socket.setNoDelay(true)
      socket.setEncoding('latin1')
      socket.on('connect', () => {
        sentAt = performance.now()
        socket.write(request)
      })
      socket.on('data', (text: string) => {
        const now = performance.now()
        const isCounted = now - began >= job.fromMs && now - began < job.toMs
        for (const [, at] of text.matchAll(WRITTEN_AT)) {
          if (isFirst) firsts.push(now - sentAt)
          isFirst = false
          if (isCounted) delays.push(Number(process.hrtime.bigint() - BigInt(at!)) / 1e6)
        }
        if (isFirst && !text.startsWith('HTTP/1.1 200')) failed ??= text.slice(0, 400)
        if (text.includes('[DONE]')) {
          whole++
          socket.destroy()
        }
      })
      socket.on('error', (error) => (failed ??= error.message))
      socket.on('close', () => ended())
    })
  const ends: Promise<void>[] = []
  for (let nth = 0; nth < job.streams; nth++) {
    const due = began + (nth * job.openMs) / job.streams
    const early = due - performance.now()
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    ends.push(open())
  }
  await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, job.toMs + REST_MS))])
  const [late, first] = [quantilesOf(delays), quantilesOf(firsts)]
  const [p50, p99, firstP50, firstP99] = [late(0.5), late(0.99), first(0.5), first(0.99)]
  return { chunks: delays.length, p50, p99, firstP50, firstP99, whole, failed }
}

if (process.argv[1] === streamLoadProgram) {
  process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2]!) as StreamJob)))
  process.exit(0)
}
