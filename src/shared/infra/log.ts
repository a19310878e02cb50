/**
 * Logs: one JSON line a message on stdout, chosen fields only. Redaction by path misses capitalised headers, copied
 * error properties and Postgres' `detail`, so objects from outside are never handed to the logger whole.
 */
import { writeSync } from 'node:fs'
import pino from 'pino'
import type { Logger, LoggerOptions } from 'pino'

/** The log: a line of JSON a message. */
export type Log = Logger

const TOKENS = /\b(?:tg_[0-9A-Za-z]{6,}|sk-[0-9A-Za-z_-]{8,}|[Bb]earer\s+\S+|[Bb]asic\s+[A-Za-z0-9+/=]{8,})/g
const PASSWORDS_IN_URLS = /(\w+:\/\/)[^/\s:@]*:[^/\s@]*@/g

/** Removes everything that looks like a secret from a text. A last line of defence, not the first. */
export const withoutSecrets = (text: string): string =>
  text.replace(PASSWORDS_IN_URLS, '$1[secret]@').replace(TOKENS, '[secret]')

/** What an error says, in one line without secrets and without a full stop. */
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
 * @param withWords with what other services said, in `said` and in those messages (LOG_UPSTREAM_TEXT).
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

/**
 * Lines are written together, once there are 8 KiB of them or after 50 ms: one write per line would cost each call two
 * turns of the event loop. An exit flushes the rest; only SIGKILL can lose the last 50 ms. They are gathered as bytes:
 * of texts, sonic-boom would count all that wait again for each line that comes.
 */
const TOGETHER = { sync: false, minLength: 8192, contentMode: 'buffer' } as const
const FLUSH_AFTER_MS = 50

/** What lines are written to. */
type Destination = ReturnType<typeof pino.destination>

/**
 * Opens a destination, the standard output unless `options` name another, and writes what it has gathered after 50 ms.
 * Its own regular flush would go on while there is nothing to write, each time through another thread: most of the CPU
 * of a process without calls.
 */
export function openDestination(options: { dest?: string; minLength?: number } = {}): Destination {
  const destination = pino.destination({ ...TOGETHER, ...options })
  // A log that cannot be written ends no process: the library throws, unless somebody listens.
  destination.on('error', () => {})
  const write = destination.write.bind(destination) as unknown as (bytes: Buffer) => boolean
  let unwritten = 0
  let timer: NodeJS.Timeout | undefined
  const flushLater = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (unwritten === 0) return
      // Does nothing while it is writing: what has come since then is written later.
      destination.flush()
      flushLater()
    }, FLUSH_AFTER_MS).unref()
  }
  destination.on('write', (bytes: number) => {
    unwritten -= bytes
  })
  destination.write = (lines) => {
    const bytes = Buffer.from(lines)
    unwritten += bytes.length
    flushLater()
    return write(bytes)
  }
  destination.flushSync = () => flushAtOnce(destination as unknown as Held)
  return destination
}

/** How long an exit waits for a reader that takes nothing, in ms. */
const READER_PATIENCE_MS = 5000

/** What sonic-boom holds: what it is writing, or would write next, and what comes after. */
type Held = { fd: number; _writing: boolean; _writingBuf: Buffer; _bufs: Buffer[][]; _lens: number[]; _len: number }

/**
 * Writes at once what was gathered, or gives it up. Sonic-boom's own way tries for ever where nobody takes it, since
 * the reader of a pipe is gone or a disk is full: a process that exits would never end.
 */
function flushAtOnce(held: Held): void {
  const begun = held._writing ? 0 : held._writingBuf.length
  const bytes = Buffer.concat([held._writingBuf.subarray(0, begun), ...held._bufs.flat()])
  Object.assign(held, { _writingBuf: held._writingBuf.subarray(begun), _bufs: [], _lens: [] })
  held._len = held._writingBuf.length
  const pause = new Int32Array(new SharedArrayBuffer(4))
  let [written, takenAt] = [0, performance.now()]
  while (written < bytes.length) {
    try {
      written += writeSync(held.fd, bytes, written)
      takenAt = performance.now()
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN'
      if (!isFull || performance.now() - takenAt > READER_PATIENCE_MS) return
      Atomics.wait(pause, 0, 0, 10)
    }
  }
}

/** What a field of a line may hold: nothing that has to be looked at for secrets. */
type Field = string | number | boolean | undefined

/**
 * Logs at level info, as `log.info` does, a line that every call has: it is written as one text, which costs a fifth. A
 * field without a value is left out.
 */
export function logLine(log: Log, fields: Record<string, Field>, message: string): void {
  if (!log.isLevelEnabled('info')) return
  const { [pino.symbols.streamSym]: stream, [pino.symbols.chindingsSym]: bindings } = log as unknown as {
    [pino.symbols.streamSym]: { write: (line: string) => void }
    [pino.symbols.chindingsSym]: string
  }
  const [own, said] = [JSON.stringify(fields).slice(1, -1), JSON.stringify(message)]
  stream.write(`{"level":"info","time":"${new Date().toISOString()}"${bindings},${own},"msg":${said}}\n`)
}

/** The logger of a process. @param withWords as `describeError`. */
export function createLog(level: string, process: 'web' | 'worker' | 'release' | 'admin', withWords = false): Log {
  const options: LoggerOptions = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error, withWords) },
  }
  return pino(options, openDestination())
}
