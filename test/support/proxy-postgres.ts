import type { Statement, Wire } from './proxy.ts'
import { Proxy } from './proxy.ts'

/** Bytes of a message's type and length in Postgres's protocol 3. */
const HEAD = 5

/** Splits a stream into typed messages. The client's first message has no type. */
class Messages {
  private rest = Buffer.alloc(0)
  private first: boolean

  constructor(beginsUntyped: boolean) {
    this.first = beginsUntyped
  }

  *take(bytes: Buffer): Generator<{ type: string; body: Buffer; whole: Buffer }> {
    this.rest = Buffer.concat([this.rest, bytes])
    for (;;) {
      const head = this.first ? HEAD - 1 : HEAD
      if (this.rest.length < head) return
      const length = this.rest.readUInt32BE(head - 4) + head - 4
      if (this.rest.length < length) return
      const whole = this.rest.subarray(0, length)
      this.rest = this.rest.subarray(length)
      const type = this.first ? '' : String.fromCharCode(whole[0]!)
      this.first = false
      yield { type, body: whole.subarray(head), whole }
    }
  }
}

const textAt = (body: Buffer, from: number): string => body.toString('utf8', from, body.indexOf(0, from))

/** Messages that end a statement: Query, Sync. */
const ENDS = new Set(['Q', 'S'])

function postgresWire(): Wire {
  const fromClient = new Messages(true)
  const fromServer = new Messages(false)
  const prepared = new Map<string, string>()
  let parts: Buffer[] = []
  let text = ''
  return {
    statements(bytes) {
      const statements: Statement[] = []
      for (const { type, body, whole } of fromClient.take(bytes)) {
        parts.push(whole)
        if (type === 'Q') text = textAt(body, 0)
        if (type === 'P') {
          const name = textAt(body, 0)
          text = textAt(body, Buffer.byteLength(name) + 1)
          prepared.set(name, text)
        }
        if (type === 'B') text = prepared.get(textAt(body, textAt(body, 0).length + 1)) ?? text
        if (type !== '' && type !== 'p' && type !== 'X' && !ENDS.has(type)) continue
        statements.push({ bytes: Buffer.concat(parts), label: ENDS.has(type) ? labelOf(text) : '' })
        parts = []
        text = ''
      }
      return statements
    },
    question: () => null,
    isDone(bytes) {
      for (const { type } of fromServer.take(bytes)) if (type === 'Z') return true
      return false
    },
  }
}

/** A statement's name: its function, or its verb, table and first column. */
function labelOf(sql: string): string {
  const text = sql.replaceAll(/\s+/g, ' ').replaceAll('"', '').trim()
  const called = /^SELECT \* FROM (\w+)\(/i.exec(text)
  if (called) return called[1]!
  const changed = /^(UPDATE|INSERT INTO|DELETE FROM) (\w+)(?: SET (\w+))?/i.exec(text)
  if (changed) return [changed[1], changed[2], changed[3]].filter(Boolean).join(' ').toLowerCase()
  return text.slice(0, 60).toLowerCase()
}

/** A proxy in front of a Postgres that recognises statements by their names. */
export const startPostgresProxy = (port: number): Promise<Proxy> => Proxy.start(port, postgresWire)
