/** `npm run bench -- --streams`: what a chunk of a stream costs compared with a relay of bytes, and how late it is. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { root } from '../scripts/folders.ts'
import { cpuMicros, residentMb } from '../scripts/harness/processes.ts'
import { jsonPasses } from './counts.ts'
import { table } from './report.ts'
import { say } from './stack.ts'
import { streamLoadProgram } from './stream-load.ts'
import type { StreamJob, StreamResult } from './stream-load.ts'
import type { Subject } from './subjects.ts'

const runFile = promisify(execFile)

/** What is compared. */
const NAMES = ['relay', 'tollgate stream']

/** Up to this many streams are opened within a second, more of them within five; counted in ms from the beginning. */
const SECOND = { upTo: 400, openMs: 1000, fromMs: 2000, toMs: 9000 }
const FIVE_SECONDS = { openMs: 5000, fromMs: 6000, toMs: 9000 }

/** One subject with a number of streams: CPU in µs a chunk and memory in MB by process. */
type Measured = StreamResult & {
  streams: number
  subject: string
  cpu: Record<string, number>
  mb: Record<string, number>
}

/** Opens streams from a process of its own, and reads them. @throws where one does not begin */
async function loadStreams(
  subject: Subject,
  streams: number,
  times: Pick<StreamJob, 'openMs' | 'fromMs' | 'toMs'>,
): Promise<StreamResult> {
  const body = JSON.stringify({ ...(JSON.parse(subject.body) as object), user: 'paced' })
  const job: StreamJob = {
    host: '127.0.0.1',
    port: subject.port,
    path: '/v1/chat/completions',
    headers: subject.headers,
    body,
    streams,
    ...times,
  }
  const args = ['--import', 'tsx', streamLoadProgram, JSON.stringify(job)]
  const { stdout } = await runFile(process.execPath, args, { cwd: root })
  const result = JSON.parse(stdout) as StreamResult
  if (result.failed !== null) throw new Error(`${subject.name} with ${streams} streams: ${result.failed}`)
  return result
}

/** Streams whose JSON passes are counted, from the first chunk to the last. */
const COUNTED = { streams: 20, openMs: 500, fromMs: 0, toMs: 20_000 }

/** How often each process of a subject parses a chunk as JSON. @param folder where they write their counts */
export async function passesPerChunk(subject: Subject, folder: string): Promise<Record<string, number>> {
  const { streams, ...times } = COUNTED
  const { chunks } = await loadStreams(subject, streams, times)
  const passes = await jsonPasses(folder)
  return Object.fromEntries(
    subject.processes.flatMap(({ name, pid }) => (passes.has(pid) ? [[name, passes.get(pid)! / chunks]] : [])),
  )
}

async function measure(subject: Subject, streams: number): Promise<Measured> {
  const { upTo, ...second } = SECOND
  const times = streams <= upTo ? second : FIVE_SECONDS
  const load = loadStreams(subject, streams, times)
  const cpuNow = () => subject.processes.map(({ pid }) => cpuMicros(pid))
  await sleep(times.fromMs)
  const before = cpuNow()
  await sleep(times.toMs - times.fromMs)
  const after = cpuNow()
  const mb = Object.fromEntries(subject.processes.map(({ name, pid }) => [name, residentMb(pid)]))
  const result = await load
  const cpu = subject.processes.map(({ name }, at) => [name, (after[at]! - before[at]!) / result.chunks] as const)
  return { ...result, streams, subject: subject.name, cpu: Object.fromEntries(cpu), mb }
}

const HEAD = [
  'streams',
  'subject',
  'CPU µs a chunk',
  'by process',
  'late p50',
  'p99',
  'first chunk p50',
  'p99',
  'whole',
  'MB',
]

/** Measures relay and Tollgate in turn, and prints the table. Delays in ms. */
export async function compareStreams(subjects: Subject[], counts: number[]): Promise<void> {
  const compared = subjects.filter(({ name }) => NAMES.includes(name))
  const lines: string[][] = [HEAD]
  // A fresh process runs code that is not yet compiled.
  for (const subject of compared) await measure(subject, 100)
  for (const streams of counts) {
    for (const subject of compared) {
      say(`${streams} streams: ${subject.name}`)
      const one = await measure(subject, streams)
      const parts = Object.entries(one.cpu).map(([name, micros]) => `${name} ${micros.toFixed(0)}`)
      const total = Object.values(one.cpu).reduce((sum, micros) => sum + micros, 0)
      const memory = Object.entries(one.mb).map(([name, mb]) => `${name} ${mb}`)
      const times = [one.p50, one.p99, one.firstP50, one.firstP99].map((ms) => ms.toFixed(1))
      lines.push([
        String(streams),
        one.subject,
        total.toFixed(0),
        parts.join(', '),
        ...times,
        String(one.whole),
        memory.join(', '),
      ])
    }
  }
  table(lines)
}
