import { existsSync } from 'node:fs'

/** mocha's options that take the next argument as their value. */
const valued = new Set('-g --grep -f --fgrep -t --timeout -s --slow -j --jobs --retries -R --reporter'.split(' '))

/**
 * The arguments of `npm test`: its own options, and `rest`, which are mocha's. `since`: the commit of
 * `--changed=COMMIT`, HEAD without one.
 */
export type Arguments = { times: boolean; since: string | undefined; rest: string[] }

const OWN = /^--(?:times$|changed(?:=|$))/

/** Reads the arguments of `npm test`. */
export function readArguments(args: readonly string[]): Arguments {
  const changed = args.find((arg) => /^--changed(?:=|$)/.test(arg))
  return {
    times: args.includes('--times'),
    since: changed && (changed.split('=')[1] ?? 'HEAD'),
    rest: args.filter((arg) => !OWN.test(arg)),
  }
}

/** Whether arguments of mocha name test files, folders or patterns, in addition to options. */
export function namesFiles(args: readonly string[]): boolean {
  return args.some((arg, index) => {
    if (arg.startsWith('-') || valued.has(args[index - 1] ?? '')) return false
    return arg.endsWith('.ts') || arg.includes('*') || existsSync(arg)
  })
}
