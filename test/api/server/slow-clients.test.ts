import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeSlowReaders, takenBy, watchReaders } from '../../../src/api/server/listen.ts'
import { until } from '../../../scripts/harness/until.ts'

/** When a reader counts as slow here, in ms, and more bytes than both kernels buffer. */
const SLOW_MS = 300
const MUCH = 64 * 1024 * 1024

describe('a connection whose client', () => {
  let server: Server
  let stop: () => void
  let client: Socket
  afterEach(() => {
    client.destroy()
    stop()
    server.closeAllConnections()
    server.close()
  })

  /** A server with this handler, and a client that asks it. `serving` is the server's side of the connection. */
  async function ask(answer: RequestListener, watch = () => closeSlowReaders(server, SLOW_MS)): Promise<Socket> {
    server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    stop = watch()
    const connection = once(server, 'connection')
    client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {}).pause()
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [serving] = (await connection) as [Socket]
    return serving
  }

  it('reads nothing is closed, even if more is written and the client sends more requests', async () => {
    const serving = await ask((request, response) => {
      if (response.socket) response.write(Buffer.alloc(MUCH))
      const beat = setInterval(() => response.write(': still here\n\n'), 20)
      request.socket.once('close', () => clearInterval(beat))
    })
    const asking = setInterval(() => client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 20)
    await until('the connection being closed', () => serving.destroyed)
    clearInterval(asking)
  })

  it('waits long for an answer keeps it, with an occasional heartbeat', async () => {
    let finish = (): void => {}
    const serving = await ask((_request, response) => {
      response.write(' ')
      const beat = setInterval(() => response.write(' '), SLOW_MS)
      finish = () => {
        clearInterval(beat)
        response.end('{}')
      }
    })
    let text = ''
    client
      .on('data', (data: Buffer) => {
        text += data.toString()
      })
      .resume()
    // The promise is about time: much longer than a slow reader gets.
    await sleep(SLOW_MS * 4)
    expect(serving.destroyed).to.equal(false)
    finish()
    await until('the answer', () => text.includes('{}'))
  })

  it('reads a little at a time keeps it, however long it takes', async () => {
    let look = (_passedMs: number): void => {}
    const serving = await ask(
      (_request, response) => response.end(Buffer.alloc(MUCH)),
      () => {
        const readers = watchReaders(server, SLOW_MS)
        look = readers.check
        return readers.stop
      },
    )
    for (let time = 0; time < 5; time++) {
      const before = takenBy(serving)
      await until('something being taken', () => {
        client.read()
        return takenBy(serving) !== before
      })
      look(SLOW_MS - 1)
      expect(serving.destroyed).to.equal(false)
    }
    look(SLOW_MS)
    expect(serving.destroyed, 'once nothing is taken any more').to.equal(true)
  })
})
