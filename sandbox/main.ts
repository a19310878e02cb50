import { parseArgs } from 'node:util'
import { commandHelp } from './help.ts'
import { createSandbox } from './server.ts'
import type { SandboxOptions } from './server.ts'

/** A command line that cannot be understood. */
const EXIT_USAGE = 2

class UsageError extends Error {}

function readCommandLine(): SandboxOptions | 'help' {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '4010' },
      host: { type: 'string', default: '127.0.0.1' },
      'video-seconds': { type: 'string', default: '2' },
      'image-seconds': { type: 'string', default: '0.5' },
      'stripe-file': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const port = readNumber('--port', values.port)
  if (!Number.isInteger(port) || port > 65_535) throw new UsageError('--port must be a whole number up to 65535.')
  return {
    port,
    host: values.host,
    videoSeconds: readNumber('--video-seconds', values['video-seconds']),
    imageSeconds: readNumber('--image-seconds', values['image-seconds']),
    ...(values['stripe-file'] && { stripeFile: values['stripe-file'] }),
  }
}

function readNumber(flag: string, given: string): number {
  if (!/^\d+(\.\d+)?$/.test(given)) throw new UsageError(`${flag} must be a number, not "${given}".`)
  return Number(given)
}

/** An unhandled defect is printed, and the sandbox continues. */
const report = (defect: unknown): void => console.error('defect', defect)

async function main(): Promise<void> {
  const options = readCommandLine()
  if (options === 'help') {
    console.log(commandHelp())
    return
  }
  process.on('unhandledRejection', report)
  process.on('uncaughtException', report)
  const sandbox = await createSandbox(options)
  console.log(`sandbox upstream listening on ${sandbox.url}`)
  const stop = (): void => {
    sandbox.close().catch(report)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

main().catch((failure: unknown) => {
  const { message, code } = failure as NodeJS.ErrnoException
  const misused = failure instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
  console.error(misused ? `${message} Try --help.` : `The sandbox cannot start: ${message}`)
  process.exitCode = misused ? EXIT_USAGE : 1
})
