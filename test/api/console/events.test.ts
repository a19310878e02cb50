import { expect } from 'chai'
import Router from '@koa/router'
import Koa from 'koa'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Redis } from 'ioredis'
import { accountEvents, followAccount } from '../../../src/api/console/events.ts'
import type { WebDeps } from '../../../src/api/deps.ts'
import { errorHandler } from '../../../src/api/middleware/error-handler.ts'
import type { RequestState } from '../../../src/api/middleware/request-context.ts'
import { ResponseMemory, unreadBounds } from '../../../src/api/server/response-memory.ts'
import { FairQueue } from '../../../src/shared/platform/fair-queue.ts'
import type { AnyHandler } from '../../../src/api/endpoint/serve.ts'
import { serveDeclared } from '../../../src/api/endpoint/serve.ts'
import { eventChannel } from '../../../src/shared/replies/channels.ts'
import { Replies } from '../../../src/shared/replies/reply-channel.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { connectPersistent } from '../../../src/shared/platform/redis/redis.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { aVisitor, startConsole } from '../../support/console.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'

/** How often sessions are checked here, in ms. */
const CHECK_MS = 50

describe('GET /api/events', () => {
  let web: TestConsole
  let redis: Redis
  let subscriber: Redis
  /** Two web processes' worth of it, each with its own counts. */
  const servers: Server[] = []
  const draining = new AbortController()
  before(async () => {
    web = await startConsole()
    redis = connectPersistent(web.config)
    subscriber = connectPersistent(web.config)
    const log = createLog('silent', 'web')
    const replies = new Replies({
      subscriber,
      publisher: redis,
      prefix: web.config.REDIS_PREFIX,
      address: 'events-test',
      readAnswer: async () => null,
      findEnded: async () => [],
    })
    const deps = {
      config: web.config,
      db: web.db,
      redis,
      replies,
      responseMemory: new ResponseMemory(unreadBounds(0)),
      consoleQueue: new FairQueue({ perHolder: 1, waiting: 200 }),
      draining: draining.signal,
      log,
    } as unknown as WebDeps
    for (let nth = 0; nth < 2; nth++) {
      const router = new Router<RequestState>()
      router.get(
        '/api/events',
        serveDeclared(accountEvents, followAccount(deps, CHECK_MS) as AnyHandler, deps, { writes: true }),
      )
      const app = new Koa<RequestState>().use(errorHandler(log, () => {})).use(router.routes())
      // A disconnect ends the stream without an event.
      app.silent = true
      const server = createServer((request, response) => void app.callback()(request, response)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      servers.push(server)
    }
  })
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    redis.disconnect()
    subscriber.disconnect()
    await web.stop()
  })

  /** Follows an account; `text` grows as events come, `ended` once the stream has ended. */
  async function follow(person: Person, server = servers[0]!) {
    const leave = new AbortController()
    const { port } = server.address() as AddressInfo
    const headers = { authorization: `Bearer ${person.token}` }
    const response = await fetch(`http://127.0.0.1:${port}/api/events`, { headers, signal: leave.signal })
    const stream = { status: response.status, text: '', ended: false, leave: () => leave.abort() }
    const read = async (): Promise<void> => {
      for await (const chunk of response.body!) stream.text += Buffer.from(chunk as Uint8Array).toString()
      stream.ended = true
    }
    read().catch(() => {
      stream.ended = true
    })
    return stream
  }

  const seen = (stream: { text: string }, part: string | RegExp): Promise<unknown> =>
    until(String(part), () => (typeof part === 'string' ? stream.text.includes(part) : part.test(stream.text)))

  const publish = (person: Person, event: object): Promise<number> =>
    redis.publish(eventChannel(web.config.REDIS_PREFIX, parseId('account', person.id)!), JSON.stringify(event))

  it('begins with the state of the account, and sends each change of the balance', async () => {
    const person = await aVisitor(web)
    const stream = await follow(person)
    await seen(stream, 'event: account\ndata: {"role":"user","credits":0,"debt":0,"held":0,"running":0}')
    const before = stream.text.length
    await publish(person, { callId: null, balance: 5 })
    await until('another event', () => stream.text.length > before)
    stream.leave()
  })

  it('sends nobody the calls of another account', async () => {
    const [person, other] = [await aVisitor(web), await aVisitor(web)]
    const stream = await follow(person)
    await seen(stream, 'event: account')
    const begin = stream.text.length
    await publish(other, { callId: newId('call'), status: 'running', balance: null })
    // The id of another account's call on one's own channel is looked up only under one's own account.
    await publish(person, { callId: newId('call'), status: 'running', balance: null })
    await until('the own event', () => stream.text.length > begin)
    expect(stream.text).not.to.contain('event: call')
    stream.leave()
  })

  it('combines a burst of changes, and says that some may be missing', async () => {
    const person = await aVisitor(web)
    const stream = await follow(person)
    await seen(stream, 'event: account')
    for (let times = 0; times < 200; times++)
      void publish(person, { callId: newId('call'), status: 'running', balance: null })
    await seen(stream, 'event: refresh')
    expect(stream.text.match(/event: account/g)!.length).to.be.lessThan(50)
    stream.leave()
  })

  it('ends soon after its session does', async () => {
    const person = await aVisitor(web)
    const stream = await follow(person)
    await seen(stream, 'event: account')
    await web.post('/api/auth/logout', {}, person.token)
    await until('the end', () => stream.ended)
    expect(stream.text).to.contain('event: signed_out')
  })

  it('shares the streams of an organisation among its members, whose own accounts have theirs', async () => {
    const owner = await anOrganisation(web.db)
    const [member, person] = [await aMember(web.db, owner), await aVisitor(web)]
    const streams = await Promise.all(Array.from({ length: 19 }, () => follow(owner)))
    streams.push(await follow(member), await follow(person))
    expect(streams.map(({ status }) => status)).to.deep.equal(Array(21).fill(200))
    for (const one of [owner, member]) expect((await follow(one)).status).to.equal(429)
    for (const stream of streams) stream.leave()
  })

  it('accepts exactly 20 of 60 simultaneous streams and refuses the others', async () => {
    const person = await aVisitor(web)
    const streams = await Promise.all(Array.from({ length: 60 }, () => follow(person)))
    const statuses = streams.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(20)
    expect(statuses.filter((status) => status === 429)).to.have.length(40)
    for (const stream of streams) stream.leave()
    await until('every place is free', async () => {
      const again = await Promise.all(Array.from({ length: 20 }, () => follow(person)))
      for (const stream of again) stream.leave()
      return again.every(({ status }) => status === 200)
    })
  })

  it('limits the streams of an account over all processes, and forgets those of a process that died', async () => {
    const person = await aVisitor(web)
    const [first, second] = servers
    const open = (count: number, server?: Server) =>
      Promise.all(Array.from({ length: count }, () => follow(person, server)))
    const streams = [...(await open(10, first)), ...(await open(9, second))]
    const died = `${web.config.REDIS_PREFIX}:event-streams:${parseId('account', person.id)}`
    await redis.zadd(died, Date.now() + 60_000, 'of a process that died')
    const more = [...(await open(1, first)), ...(await open(1, second))]
    expect([...streams, ...more].map(({ status }) => status)).to.deep.equal([...Array(19).fill(200), 429, 429])
    await redis.zadd(died, Date.now() - 1, 'of a process that died')
    streams.push(...(await open(1, second)))
    expect(streams.at(-1)!.status).to.equal(200)
    for (const stream of streams) stream.leave()
  })

  it('ends when the process stops, so that the page reconnects to another', async () => {
    const stream = await follow(await aVisitor(web))
    await seen(stream, 'event: account')
    draining.abort()
    await until('the end', () => stream.ended)
  })
})
