/**
 * Logs: one JSON line a message on stdout, chosen fields only. Redaction by path misses capitalised headers, copied
 * error properties and Postgres' `detail`, so objects from outside are never handed to the logger whole.
 */
import pino from 'pino'
import type { Logger, LoggerOptions } from 'pino'

/** The log: a line of JSON a message. */
export type Log = Logger

const TOKENS = /\b(?:tg_[0-9A-Za-z]{6,}|sk-[0-9A-Za-z_-]{8,}|[Bb]earer\s+\S+|[Bb]asic\s+[A-Za-z0-9+/=]{8,})/g
const KEY_HEADERS = /\bx-api-key["']?\s*[:=]\s*\S+/gi
const PASSWORDS_IN_URLS = /(\w+:\/\/)[^/\s:@]*:[^/\s@]*@/g

/** Removes everything from a text that may be a secret. A last line of defence, not the first. */
export const withoutSecrets = (text: string): string =>
  text.replace(PASSWORDS_IN_URLS, '$1[secret]@').replace(TOKENS, '[secret]').replace(KEY_HEADERS, '[secret]')

/** The message of an error, in one line without secrets and without a full stop. */
export const sentenceOf = (error: unknown): string =>
  withoutSecrets(error instanceof Error ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .replace(/\.$/, '')

/** Whether a value is a word that may be logged as it is: some services quote what they were sent in any text. */
export const isWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9_.:-]{1,64}$/.test(value)

/** Whether a message may quote what the error is about: that of a parser does, and that of Stripe's API. */
const mayQuote = (error: Error): boolean =>
  error instanceof SyntaxError || String((error as { type?: unknown }).type).startsWith('Stripe')

/** Where an error was made, without its message. */
function framesOf({ name, message, stack = '' }: Error): string {
  const head = `${name}: ${message}`
  return stack.startsWith(head) ? stack.slice(head.length).trimStart() : ''
}

/**
 * What of an error may be logged: name, status, code, type, message and stack, and the same of its cause. Never
 * `detail`, and of messages that may quote what was sent nothing.
 * @param withWords with the texts of other services, in `said` and in those messages (LOG_UPSTREAM_TEXT).
 */
export function describeError(error: unknown, withWords = false): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutSecrets(String(error)) }
  const { status, code, type, said } = error as { status?: unknown; code?: unknown; type?: unknown; said?: unknown }
  const isShown = withWords || !mayQuote(error)
  return {
    name: error.name,
    ...(typeof status === 'number' && { status }),
    ...(isWord(code) && { code }),
    ...(isWord(type) && { type }),
    message: isShown ? withoutSecrets(error.message) : '[not shown]',
    stack: withoutSecrets(isShown ? (error.stack ?? '') : framesOf(error)),
    ...(withWords && typeof said === 'string' && { said: withoutSecrets(said) }),
    ...(error.cause !== undefined && { cause: describeError(error.cause, withWords) }),
  }
}

/** What may wait in memory for a reader of the standard output that is slow, in bytes. */
const MOST_WAITING = 16 * 1024 * 1024

/** The standard output. A line is dropped where too much waits. */
const output = {
  write: (line: string): void => {
    if (process.stdout.writableLength < MOST_WAITING) process.stdout.write(line)
  },
}

// A log that cannot be written ends no process.
process.stdout.on('error', () => {})

/** How long an exit waits for a reader that takes nothing, in ms. */
const READER_PATIENCE_MS = 5000

/** Resolves once all lines are written, or nobody takes them. To be awaited before an exit, which loses what waits. */
export async function logWritten(): Promise<void> {
  await new Promise<unknown>((resolve) => {
    process.stdout.write('', resolve)
    setTimeout(resolve, READER_PATIENCE_MS).unref()
  })
}

/** The logger of a process. @param withWords as `describeError`. */
export function createLog(level: string, name: 'web' | 'worker' | 'release' | 'admin', withWords = false): Log {
  const options: LoggerOptions = {
    level,
    base: { process: name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error, withWords) },
  }
  return pino(options, output)
}
