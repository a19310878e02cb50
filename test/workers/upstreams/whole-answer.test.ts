import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { expect } from 'chai'
import { Agent } from 'undici'
import { until } from '../../../scripts/harness/until.ts'
import { AnswerTooLong, UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type { Bound } from '../../../src/workers/upstreams/whole-answer.ts'
import { requestWhole } from '../../../src/workers/upstreams/whole-answer.ts'

const CHAT: Bound = { maxBytes: 1000, isChat: true }

/** What is thrown. */
const thrownBy = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error: unknown) => error)

describe('an answer that is read whole', () => {
  let agent: Agent
  let server: Server
  let sockets: Socket[]
  let answer: (socket: Socket) => void

  beforeEach(async () => {
    sockets = []
    agent = new Agent()
    server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.on('data', () => answer(socket))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })

  afterEach(async () => {
    await agent.destroy()
    sockets.forEach((socket) => socket.destroy())
    server.close()
  })

  const ask = (bound: Bound = CHAT, signal: AbortSignal = new AbortController().signal) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return requestWhole(agent, { origin, path: '/', method: 'POST', body: '{}' }, signal, bound)
  }

  const says = (head: string, ...pieces: string[]) => {
    answer = (socket) => {
      socket.write(`HTTP/1.1 ${head}\r\n\r\n`)
      for (const piece of pieces) socket.write(piece)
    }
  }

  it('is its status, its headers and all its pieces; the connection serves another request', async () => {
    says('200 OK\r\nX-One: 1\r\nTransfer-Encoding: chunked', '5\r\nhello\r\n', '6\r\n world\r\n0\r\n\r\n')
    const { status, headers, bytes } = await ask()
    expect([status, headers['x-one'], Buffer.from(bytes).toString()]).to.deep.equal([200, '1', 'hello world'])
    await until('a request on a kept connection', async () => {
      const before = sockets.length
      await ask()
      return sockets.length === before
    })
  })

  it('is the one behind an answer that only informs', async () => {
    says('103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2', 'ok')
    const { status, headers } = await ask()
    expect([status, headers.link]).to.deep.equal([200, undefined])
  })

  it('may have no body at all', async () => {
    says('204 No Content')
    expect((await ask()).bytes).to.have.length(0)
  })

  it('ends its connection where it is too long, and a chat keeps what was read', async () => {
    says('200 OK\r\nContent-Length: 100000', 'x'.repeat(2000))
    const error = await thrownBy(ask())
    expect(error).to.be.instanceOf(AnswerTooLong)
    expect((error as AnswerTooLong).text).to.equal('x'.repeat(1000))
    if (!sockets[0]!.destroyed) await once(sockets[0]!, 'close')
    const other = await thrownBy(ask({ maxBytes: 1000, isChat: false }))
    expect(other).to.be.instanceOf(UpstreamError).and.not.instanceOf(AnswerTooLong)
  })

  it('is given up at the signal, before its headers and after them', async () => {
    const reason = new Error('over')
    const early = new AbortController()
    answer = () => early.abort(reason)
    expect(await thrownBy(ask(CHAT, early.signal))).to.equal(reason)
    const late = new AbortController()
    answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx', () => late.abort(reason))
    }
    expect(await thrownBy(ask(CHAT, late.signal))).to.equal(reason)
    expect(await thrownBy(ask(CHAT, AbortSignal.abort(reason)))).to.equal(reason)
  })

  it('fails where its connection breaks', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx')
    expect(await thrownBy(ask())).to.have.property('code', 'UND_ERR_SOCKET')
  })

  it('of an error is what came of it: cut off, too long, or announced as too long', async () => {
    answer = (socket) => socket.end('HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nhalf')
    const cut = await ask()
    expect([cut.status, Buffer.from(cut.bytes).toString()]).to.deep.equal([500, 'half'])
    says('502 Oh\r\nTransfer-Encoding: chunked', `14000\r\n${'y'.repeat(0x14000)}\r\n`)
    expect((await ask({ maxBytes: 1_000_000, isChat: true })).status).to.equal(502)
    says('400 Oh\r\nRetry-After: 7\r\nContent-Length: 1000000')
    const { status, headers, bytes } = await ask()
    expect([status, headers['retry-after'], bytes.length]).to.deep.equal([400, '7', 0])
  })
})
