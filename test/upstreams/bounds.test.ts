import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { ResponseMemory, unreadBounds } from '../../src/api/server/response-memory.ts'
import { beginEventStream } from '../../src/api/v1/calls/event-stream.ts'
import { expectBooksToBalance } from '../support/books.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import { CHAT, prompted } from '../../scripts/harness/calling.ts'
import { startChildWorker } from './support/child-worker.ts'
import type { ChildWorker } from './support/child-worker.ts'
import { growthOf } from '../../scripts/harness/memory.ts'
import { aFundedAccount, ask, bodyOf, everyProtocol } from './support/targets.ts'
import type { Target } from './support/targets.ts'

const chat = { protocol: 'openai', modality: 'chat' } as const
const MEGABYTE = 1024 * 1024

const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))

describe('the memory of the processes', function () {
  let gateway: Gateway
  let worker: ChildWorker
  let account: TestAccount

  before(async function () {
    if (process.platform !== 'linux') this.skip()
    gateway = await startGateway({}, everyProtocol)
    await gateway.stopWorker()
    worker = await startChildWorker(gateway.config)
    account = await aFundedAccount(gateway)
    await times(5, () => ask(gateway, account, chat, prompted()))
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await worker?.stop()
    await gateway?.stop()
  })

  const expectStatus = (target: Target, words: string, status: number) => async () => {
    const reply = await ask(gateway, await aFundedAccount(gateway), target, prompted(words))
    expect(reply.status, reply.text.slice(0, 500)).to.equal(status)
  }

  it('of a worker is bounded when three upstreams send 100 MB each', async () => {
    const growth = await growthOf(worker.pid, () => times(3, expectStatus(chat, '[big 100]', 200)))
    expect(growth).to.be.below(3 * 8 * 4 + 100)
  })

  it('of a worker hardly grows with the files that it downloads: five of 45 MB', async () => {
    const growth = await growthOf(worker.pid, () =>
      times(5, expectStatus({ protocol: 'fal', modality: 'image' }, '[big 45]', 200)),
    )
    expect(growth).to.be.below(80)
  })

  it('of a web process is bounded under clients that do not read, whose calls still end', async () => {
    const readers: Socket[] = []
    const own = await aFundedAccount(gateway)
    const growth = await growthOf(process.pid, async () => {
      readers.push(...(await times(3, () => startReader(own, prompted('[big 20]')))))
      await until('the calls having ended', async () => (await endedCalls(own)).length === 3)
    })
    expect(growth).to.be.below(3 * (16 + 8) + 100)
    readers.forEach((socket) => socket.destroy())
  })

  /** A client that sends its request and does not read the answer. */
  function startReader({ key }: TestAccount, prompt: string): Promise<Socket> {
    const body = JSON.stringify({ ...bodyOf(chat, prompt), stream: true })
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' })
    socket.on('error', () => {}).pause()
    return new Promise((resolve) =>
      socket.once('connect', () => {
        socket.write(
          `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\n` +
            `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        )
        resolve(socket)
      }),
    )
  }

  const endedCalls = ({ id }: TestAccount) =>
    gateway.db('calls').where({ account_id: id }).whereIn('status', ['succeeded', 'failed']).select('id')
})

describe('a stream of events whose client does not read', () => {
  it('is cut off when 16 MB wait for it, besides what the kernels buffer', async () => {
    const app = new Koa()
    app.silent = true
    const responseMemory = new ResponseMemory(unreadBounds(0))
    let sentMb = 0
    const closed = new Promise<void>((resolve) =>
      app.use((ctx) => {
        ctx.res.once('close', resolve)
        const events = beginEventStream(ctx, responseMemory.hold(ctx))
        const piece = 'x'.repeat(MEGABYTE)
        const write = (): void => {
          if (ctx.res.destroyed || sentMb > 500) return
          events.send(piece)
          sentMb++
          setImmediate(write)
        }
        write()
      }),
    )
    const server = app.listen(0)
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {}).pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await closed
    expect(sentMb).to.be.within(16, 80)
    socket.destroy()
    server.close()
  })
})
