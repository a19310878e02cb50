/**
 * Ends a process whose event loop stands still. Signals, a forced exit and health are turns of that loop: such a
 * process would answer nobody, hear no SIGTERM and take whatever memory there is, until somebody kills it by hand.
 */
import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** How often the loop shows that it turns, in ms. */
const BEAT_MS = 250

/**
 * When the loop counts as standing still: it has not turned between so many looks, which come every so many ms. Looks
 * are counted, not time: a process that is suspended has none. Sooner than platforms kill after SIGTERM, at 30 s.
 */
export type Patience = { looks: number; everyMs: number }

const PATIENCE: Patience = { looks: 25, everyMs: 1000 }

/** What the thread runs. It shares nothing with the process but two numbers: beats, and whether a debugger is there. */
const LOOKING = `
const { writeSync } = require('node:fs')
const { workerData: { shared, name, looks, everyMs } } = require('node:worker_threads')
const numbers = new Int32Array(shared)
let seen = -1
let still = 0
setInterval(() => {
  const beats = Atomics.load(numbers, 0)
  still = beats === seen && Atomics.load(numbers, 1) === 0 ? still + 1 : 0
  seen = beats
  if (still < looks) return
  const msg = 'killed: nothing else of this process had a turn for ' + (looks * everyMs) / 1000 + ' s'
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
  const thread = new Worker(LOOKING, { eval: true, execArgv: [], env: {}, workerData, resourceLimits })
  thread.on('error', () => {})
  thread.unref()
}
