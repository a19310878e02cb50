import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import Koa from 'koa'
import { pino } from 'pino'
import { errorHandler, responseGate } from '../../../src/api/middleware/error-handler.ts'
import type { RequestState } from '../../../src/api/middleware/request-context.ts'
import { ResponseMemory, unreadBounds } from '../../../src/api/server/response-memory.ts'

const MEGABYTE = 1_048_576

/** What a handler may leave as its answer. */
const BODIES = {
  'JSON that it made': () => ({ text: 'x'.repeat(MEGABYTE) }),
  'a list of JSON': () => ['x'.repeat(MEGABYTE)],
  'a text': () => 'x'.repeat(MEGABYTE),
  bytes: () => Buffer.alloc(MEGABYTE),
  'a stream': () => Readable.from(['x'.repeat(MEGABYTE)]),
} satisfies Record<string, () => unknown>

describe('the gate that every answer passes', () => {
  let memory: ResponseMemory
  let server: Server
  let answer: (ctx: Koa.Context & { state: RequestState }) => void
  beforeEach(async () => {
    memory = new ResponseMemory(unreadBounds(0))
    const app = new Koa<RequestState>()
    // Of connections that the test closes.
    app.silent = true
    app.use(errorHandler(pino({ level: 'silent' }), responseGate(memory)))
    app.use((ctx) => {
      Object.assign(ctx.state, { principal: { accountId: ctx.get('x-account') }, envelope: 'gateway' })
      answer(ctx as Koa.Context & { state: RequestState })
    })
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Fetches an answer, whose body is then read by nobody. */
  const ask = (account = 'a', method = 'GET') =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method, headers: { 'x-account': account } })

  /** Leaves as much unread as an account may. */
  async function fill(account: string): Promise<void> {
    answer = (ctx) => {
      memory.hold(ctx).require(32 * MEGABYTE)
      ctx.body = Readable.from(endless())
    }
    await ask(account)
  }

  for (const [what, bodyOf] of Object.entries(BODIES)) {
    it(`counts ${what} of its handler, and refuses it where its account leaves too much unread`, async () => {
      await fill('full')
      answer = (ctx) => {
        ctx.set('Content-Disposition', 'attachment')
        ctx.body = bodyOf()
      }
      const refused = await ask('full')
      expect([refused.status, refused.headers.get('content-disposition')]).to.deep.equal([503, null])
      expect(((await refused.json()) as { error: { type: string } }).error.type).to.equal('overloaded')
      expect((await ask('another')).status).to.equal(200)
    })
  }

  it('does not count short answers, assets, and answers without a body', async () => {
    await fill('a')
    answer = (ctx) => {
      ctx.body = { text: 'x'.repeat(60_000) }
    }
    const short = await ask()
    expect([short.status, await short.json()]).to.deep.equal([200, { text: 'x'.repeat(60_000) }])
    expect(short.headers.get('content-type')).to.match(/^application\/json/)
    answer = (ctx) => {
      ctx.state.isAsset = true
      ctx.body = Buffer.alloc(MEGABYTE)
    }
    expect((await ask()).status).to.equal(200)
    answer = (ctx) => {
      ctx.body = 'x'.repeat(MEGABYTE)
    }
    expect((await ask('a', 'HEAD')).status).to.equal(200)
  })

  it('counts a stream once: as what writes it does, where that counts', async () => {
    answer = (ctx) => {
      memory.hold(ctx).require(7)
      ctx.body = Readable.from(endless())
    }
    await ask()
    expect(memory.bytes()).to.equal(7)
  })
})

/** An answer that has begun and does not end. */
async function* endless(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise(() => {})
}
