import { randomUUID } from 'node:crypto'
import type { Statement, Wire } from './proxy.ts'
import { Proxy } from './proxy.ts'

const CRLF = Buffer.from('\r\n')

/** The command at the beginning of the bytes, RESP2: an array of bulk strings; null if it is incomplete. */
function commandIn(bytes: Buffer): { words: string[]; length: number } | null {
  const numberAt = (from: number) => {
    const end = bytes.indexOf(CRLF, from)
    return end < 0 ? null : { value: Number(bytes.toString('latin1', from + 1, end)), next: end + 2 }
  }
  const count = bytes.length === 0 ? null : numberAt(0)
  if (!count) return null
  const words: string[] = []
  let at = count.next
  for (let word = 0; word < count.value; word++) {
    const length = at < bytes.length ? numberAt(at) : null
    if (!length || length.next + length.value + 2 > bytes.length) return null
    words.push(bytes.toString('utf8', length.next, length.next + Math.min(length.value, 200)))
    at = length.next + length.value + 2
  }
  return { words, length: at }
}

function redisWire(): Wire {
  let rest = Buffer.alloc(0)
  let received = Buffer.alloc(0)
  const mark = randomUUID()
  return {
    statements(bytes) {
      rest = Buffer.concat([rest, bytes])
      const statements: Statement[] = []
      for (let command = commandIn(rest); command; command = commandIn(rest)) {
        statements.push({ bytes: rest.subarray(0, command.length), label: labelOf(command.words) })
        rest = rest.subarray(command.length)
      }
      return statements
    },
    // It is answered after everything that was sent before it.
    question: () => Buffer.from(`*2\r\n$4\r\nPING\r\n$${mark.length}\r\n${mark}\r\n`),
    isDone(bytes) {
      received = Buffer.concat([received, bytes])
      return received.includes(mark)
    },
  }
}

/** Commands of connections themselves and of the queue's maintenance, which are no step of a call. */
const HOUSEKEEPING = new Set(
  'auth client info config hello select ping subscribe unsubscribe exec multi script'.split(' '),
)

/** A command's name and the last words of its first key: `evalsha chat:wait`. */
function labelOf(words: string[]): string {
  const name = (words[0] ?? '').toLowerCase()
  if (HOUSEKEEPING.has(name)) return ''
  const isScript = name === 'evalsha' || name === 'eval'
  const key = (isScript ? words[3] : words[1]) ?? ''
  return `${isScript ? `script ${words[2]}` : name} ${key
    .split(':')
    .slice(1, 3)
    .join(':')
    .replaceAll(/[0-9a-f-]{32,36}/g, '*')}`
}

/** A proxy in front of a Redis that recognises commands by name and key. */
export const startRedisProxy = (port: number): Promise<Proxy> => Proxy.start(port, redisWire)
