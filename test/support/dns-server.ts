/** A real name server over UDP on the loopback interface, with a zone of the test. */
import { createSocket } from 'node:dgram'
import type { RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

/** The entry of a name: addresses of both kinds, perhaps behind an alias; an error of the server; or no answer. */
export type DnsEntry = { addresses: string[]; alias?: string } | 'SERVFAIL' | 'silent'

export type DnsServer = {
  /** `address:port`, as resolvers expect it. */
  address: string
  /** The names of all questions so far, in lower case, with their kind: `A name`, `AAAA name`. */
  questions: string[]
  close: () => Promise<void>
}

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const
const HEADER_BYTES = 12

/** Starts a name server. @param find gives a name's entry; undefined: there is no such name. */
export async function startDnsServer(find: (name: string) => DnsEntry | undefined): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query: Buffer, { port, address }: RemoteInfo) => {
    const { name, type, end } = questionOf(query)
    questions.push(`${type === TYPES.A ? 'A' : 'AAAA'} ${name}`)
    const entry = find(name)
    if (entry !== 'silent') socket.send(answerTo(query, end, name, type, entry), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function answerTo(query: Buffer, end: number, name: string, type: number, entry: DnsEntry | undefined): Buffer {
  const records = entry === undefined || typeof entry === 'string' ? [] : recordsOf(name, type, entry)
  const rcode = entry === undefined ? RCODES.NXDOMAIN : entry === 'SERVFAIL' ? RCODES.SERVFAIL : RCODES.NOERROR
  const header = Buffer.alloc(HEADER_BYTES)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | rcode, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...records])
}

function recordsOf(name: string, type: number, { addresses, alias }: Exclude<DnsEntry, string>): Buffer[] {
  const owner = alias ?? name
  const fitting = addresses.filter((address) => isIPv4(address) === (type === TYPES.A))
  const answers = fitting.map((address) => recordOf(owner, type, bytesOf(address)))
  return alias === undefined ? answers : [recordOf(name, TYPES.CNAME, encodeName(alias)), ...answers]
}

function recordOf(owner: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodeName(owner), fixed, data])
}

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ])

/** The bytes of an IPv4 address, or of an IPv6 address with at most one `::`. */
function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
