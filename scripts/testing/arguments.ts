import { existsSync } from 'node:fs'

/** mocha's options that take the next argument as their value. */
const valued = new Set('-g --grep -f --fgrep -t --timeout -s --slow -j --jobs --retries -R --reporter'.split(' '))

/** Whether the arguments of `npm test` name test files, folders or patterns, besides options. */
export function namesFiles(args: readonly string[]): boolean {
  return args.some((arg, index) => {
    if (arg.startsWith('-') || valued.has(args[index - 1] ?? '')) return false
    return arg.endsWith('.ts') || arg.includes('*') || existsSync(arg)
  })
}
