/**
 * The load: a closed loop over raw sockets, in a process of its own. It parses just enough of HTTP/1.1 to know where an
 * answer ends, so that the load generator itself is not measured.
 *
 * Run as a child: it gets one JSON job on its command line and prints one JSON result.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

/** `connections` loops that each wait for their answer, for `ms` after `warmupMs`. */
export type LoadJob = {
  host: string
  port: number
  /** POST with the body by default. */
  method?: 'GET'
  path: string
  headers: Record<string, string>
  body: string
  connections: number
  warmupMs: number
  ms: number
  /** A file with an API key a line: requests take them in turn. Absent: `headers` has all there is. */
  keysFile?: string
}

/** Latencies in ms, counted after the warm-up. `errors`: answers other than 200, and broken connections. */
export type LoadResult = {
  calls: number
  errors: number
  firstError: string | null
  seconds: number
  latencies: { p50: number; p90: number; p99: number }
}

/** The file that a child process runs. */
export const loadProgram = fileURLToPath(import.meta.url)

/** A request as it is sent. */
export function requestBytes(job: Pick<LoadJob, 'host' | 'port' | 'method' | 'path' | 'headers' | 'body'>): Buffer {
  const { host, port, method, path, headers, body } = job
  const lines = Object.entries({
    Host: `${host}:${port}`,
    ...(method !== 'GET' && { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  })
  return Buffer.from(
    `${method ?? 'POST'} ${path} HTTP/1.1\r\n` +
      `${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n${method === 'GET' ? '' : body}`,
  )
}

/** What to send next: one request over and over, or one an account in turn. */
function requestsOf(job: LoadJob): () => Buffer {
  const keys = job.keysFile ? readFileSync(job.keysFile, 'utf8').trim().split('\n') : [null]
  const requests = keys.map((key) =>
    requestBytes(key === null ? job : { ...job, headers: { ...job.headers, Authorization: `Bearer ${key}` } }),
  )
  let sent = 0
  return () => requests[sent++ % requests.length]!
}

/** Where the answer at the beginning of this text ends; -1 while it is not complete. */
function endOfAnswer(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return -1
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))
  if (length) {
    const end = head + 4 + Number(length[1])
    return text.length >= end ? end : -1
  }
  const end = text.indexOf('\r\n0\r\n\r\n', head)
  return end < 0 ? -1 : end + 7
}

/** One connection: sends, waits for the answer, sends again. */
function loop(
  job: LoadJob,
  nextRequest: () => Buffer,
  onAnswer: (ms: number) => void,
  onBroken: (why: string) => void,
): () => void {
  let received = ''
  let sentAt = 0
  let stopped = false
  const socket = connect(job.port, job.host)
  socket.setNoDelay(true)
  socket.setEncoding('latin1')
  const send = () => {
    sentAt = performance.now()
    socket.write(nextRequest())
  }
  socket.on('connect', send)
  socket.on('data', (chunk: string) => {
    received += chunk
    const end = endOfAnswer(received)
    if (end < 0) return
    const status = received.slice(9, 12)
    if (status !== '200') onBroken(received.slice(0, 400))
    received = received.slice(end)
    onAnswer(performance.now() - sentAt)
    if (stopped) socket.destroy()
    else send()
  })
  socket.on('error', (error) => onBroken(error.message))
  socket.on('close', () => {
    if (!stopped) onBroken('the connection was closed')
  })
  return () => {
    stopped = true
    socket.destroy()
  }
}

/** The value below which a share of some values lies. */
export function quantilesOf(values: number[]): (share: number) => number {
  const sorted = Float64Array.from(values).toSorted()
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

async function run(job: LoadJob): Promise<LoadResult> {
  const nextRequest = requestsOf(job)
  const latencies: number[] = []
  let counting = false
  let errors = 0
  let firstError: string | null = null
  const stops = Array.from({ length: job.connections }, () =>
    loop(
      job,
      nextRequest,
      (ms) => {
        if (counting) latencies.push(ms)
      },
      (why) => {
        errors++
        firstError ??= why
      },
    ),
  )
  await new Promise((resolve) => setTimeout(resolve, job.warmupMs))
  counting = true
  const began = performance.now()
  await new Promise((resolve) => setTimeout(resolve, job.ms))
  counting = false
  const seconds = (performance.now() - began) / 1000
  stops.forEach((stop) => stop())
  const at = quantilesOf(latencies)
  return {
    calls: latencies.length,
    errors,
    firstError,
    seconds,
    latencies: { p50: at(0.5), p90: at(0.9), p99: at(0.99) },
  }
}

if (process.argv[1] === loadProgram) {
  const result = await run(JSON.parse(process.argv[2]!) as LoadJob)
  process.stdout.write(JSON.stringify(result))
  process.exit(0)
}
