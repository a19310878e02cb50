import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { root } from '../../../scripts/folders.ts'
import { dyingWithParent } from '../../../scripts/services/processes.ts'
import type { Config } from '../../../src/shared/platform/config/config.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { failForDefects } from '../../../scripts/harness/defects.ts'
import { argumentsOf } from '../../../scripts/harness/installation.ts'

/** A separate worker process, which can be killed. */
export type ChildWorker = {
  pid: number
  /** Sends SIGKILL, and waits until the process is gone. */
  kill: () => Promise<void>
  /** Sends SIGTERM, and waits for its end. */
  stop: () => Promise<void>
}

/** The environment variables that a configuration was read from. */
const environmentOf = (config: Config): Record<string, string> =>
  Object.fromEntries(
    Object.entries(config)
      .filter(([, value]) => value !== undefined && typeof value !== 'function')
      .map(([name, value]) => [name, String(value)]),
  )

/** Starts a worker process with a configuration; resolves once it takes jobs. */
export async function startChildWorker(config: Config, more: Record<string, string> = {}): Promise<ChildWorker> {
  const [program, ...args] = dyingWithParent('SIGKILL', [process.execPath, ...argumentsOf('worker')]) as [
    string,
    ...string[],
  ]
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environmentOf(config), SANDBOX_API_KEY: 'sk-made-up', LOG_LEVEL: 'info', ...more },
  })
  failForDefects('the worker', [child.stdout])
  const closed = once(child, 'close')
  await taking(child)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await closed
  }
  return { pid: child.pid!, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

/** Does something while a separate worker process replaces the gateway's own worker. */
export async function withChildWorker<T>(gateway: Gateway, work: (worker: ChildWorker) => Promise<T>): Promise<T> {
  await gateway.stopWorker()
  let worker: ChildWorker | undefined
  try {
    worker = await startChildWorker(gateway.config)
    return await work(worker)
  } finally {
    await worker?.stop()
    await gateway.startWorker()
  }
}

function taking(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.stdout!.on('data', (text: Buffer) => {
      seen = `${seen}${text.toString()}`.slice(-10_000)
      if (seen.includes('worker process running')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code}: ${seen}`)))
  })
}
