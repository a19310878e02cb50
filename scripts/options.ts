import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'

/** The exit code of a command line that cannot be understood. */
const EXIT_USAGE = 2

/**
 * Reads the options of a script. With `--help` it prints the usage and ends; what cannot be understood is a sentence
 * with the usage, and exit code 2.
 */
export function readOptions<const T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).includes('--help')) {
    console.log(`Usage: ${usage}`)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    console.error(`${(error as Error).message.split('. ', 1)[0]}.\nUsage: ${usage}`)
    process.exit(EXIT_USAGE)
  }
}
