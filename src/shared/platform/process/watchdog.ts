/**
 * Ends a process whose event loop is blocked. Signals, a forced exit and health are turns of that loop: such a
 * process would answer no request, ignore SIGTERM and take all memory, until somebody kills it by hand.
 */
import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** How often the loop shows that it turns, in ms. */
const BEAT_MS = 250

/**
 * When the loop counts as blocked: this process has used so much CPU time, in ms, since the loop last turned.
 * CPU time, not time: a process that is suspended, or gets no processor while it starts on a busy machine, is not at
 * fault. Less than platforms wait between SIGTERM and SIGKILL, 30 s. It is read every `everyMs`.
 */
export type Patience = { cpuMs: number; everyMs: number }

const PATIENCE: Patience = { cpuMs: 25_000, everyMs: 1000 }

/** What the thread runs. It shares nothing with the process but two numbers: beats, and whether a debugger is there. */
const WATCHING = `
const { writeSync } = require('node:fs')
const { workerData: { shared, name, cpuMs, everyMs } } = require('node:worker_threads')
const numbers = new Int32Array(shared)
let seen = -1
let usedAtBeat = 0
setInterval(() => {
  const beats = Atomics.load(numbers, 0)
  const { user, system } = process.cpuUsage()
  const used = (user + system) / 1000
  if (beats !== seen || Atomics.load(numbers, 1) !== 0) {
    seen = beats
    usedAtBeat = used
  }
  if (used - usedAtBeat < cpuMs) return
  const msg = 'killed: nothing else of this process had a turn for ' + cpuMs / 1000 + ' s of CPU time'
  try {
    writeSync(1, JSON.stringify({ level: 'fatal', time: new Date().toISOString(), process: name, msg }) + '\\n')
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}, everyMs)
`

/** Watches this process from a thread of its own, until its end. `name` is for the log. */
export function watchLoop(name: string, patience: Patience = PATIENCE): void {
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const numbers = new Int32Array(shared)
  setInterval(() => {
    Atomics.add(numbers, 0, 1)
    Atomics.store(numbers, 1, inspectorUrl() === undefined ? 0 : 1)
  }, BEAT_MS).unref()
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 }
  const workerData = { shared, name, ...patience }
  const thread = new Worker(WATCHING, { eval: true, execArgv: [], env: {}, workerData, resourceLimits })
  thread.on('error', () => {})
  thread.unref()
}
