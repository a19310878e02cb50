import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Redis } from 'ioredis'
import { testConfig } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { connectPersistent } from '../../../src/shared/platform/redis/redis.ts'
import { Followers } from '../../../src/shared/replies/reply-channel.ts'
import type { AccountEvent } from '../../../src/shared/replies/channels.ts'
import { eventChannel, readReplies, replyChannel, writeReply } from '../../../src/shared/replies/channels.ts'
import { Publications } from '../../../src/shared/replies/publisher.ts'

describe('publications', () => {
  const open: Redis[] = []
  let prefix: string
  let config: Awaited<ReturnType<typeof testConfig>>
  const connect = (): Redis => {
    open.push(connectPersistent(config))
    return open.at(-1)!
  }
  before(async () => {
    config = await testConfig('http://127.0.0.1:9')
  })
  beforeEach(() => {
    prefix = `publications-${randomUUID()}`
  })
  afterEach(() => open.splice(0).forEach((one) => one.disconnect()))

  const anAccountId = (): AccountId => randomUUID() as AccountId
  const balanceOf = (balance: number): AccountEvent => ({ callId: null, balance })
  const replyOf = (nth: number) =>
    writeReply({ callId: randomUUID() as never, kind: 'end', answer: { status: 200, body: `{"nth":${nth}}` } })

  /** What comes in on a channel, message by message. */
  async function heardOn(channel: string): Promise<string[]> {
    const messages: string[] = []
    const subscriber = connect()
    subscriber.on('message', (_channel: string, message: string) => messages.push(message))
    await subscriber.subscribe(channel)
    return messages
  }

  /** How often anything was published at this Redis by a connection. */
  function countsPublishing(redis: Redis): () => number {
    let count = 0
    const publish = redis.publish.bind(redis) as (...args: Parameters<Redis['publish']>) => Promise<number>
    Object.assign(redis, {
      publish: (...args: Parameters<Redis['publish']>) => {
        count++
        return publish(...args)
      },
    })
    return () => count
  }

  it('of one moment to one channel arrive as one message, in order, and ahead of the next command', async () => {
    const redis = connect()
    const publications = new Publications(redis, prefix)
    const messages = await heardOn(replyChannel(prefix, 'web'))
    // A command of a connection that is not there yet is sent a second time.
    await redis.ping()
    const texts = [1, 2, 3].map(replyOf)
    const order: string[] = []
    const sent = texts.map(async (text) => {
      publications.reply('web', text).catch(() => {})
      await Promise.resolve()
      order.push('next')
    })
    const sendCommand = redis.sendCommand.bind(redis)
    redis.sendCommand = (...args: Parameters<Redis['sendCommand']>) => {
      order.push(args[0].name)
      return sendCommand(...args)
    }
    await Promise.all(sent)
    await redis.ping()
    expect(order.filter((name) => name !== 'next')).to.deep.equal(['publish', 'ping'])
    await until('the message', () => messages.length > 0)
    expect(messages).to.have.lengthOf(1)
    expect(readReplies(messages[0]!).map((reply) => reply.kind === 'end' && reply.answer.body)).to.deep.equal(
      [1, 2, 3].map((nth) => `{"nth":${nth}}`),
    )
  })

  it('of an account that nobody follows are left out after the first, until somebody follows it', async () => {
    const [redis, account] = [connect(), anAccountId()]
    const publications = new Publications(redis, prefix)
    publications.listen(connect())
    const count = countsPublishing(redis)
    // The first events may come before the process listens for followers.
    await until('the event to be left out', async () => {
      const before = count()
      publications.event(account, balanceOf(0))
      await nextTurn()
      return count() === before
    })
    const web = connect()
    const followers = new Followers(connect(), prefix, new Publications(web, prefix))
    const events: (AccountEvent | null)[] = []
    const leave = await followers.follow(account, (event) => events.push(event))
    let balance = 0
    await until('an event', () => {
      publications.event(account, balanceOf(++balance))
      return events.length > 0
    })
    const first = (events[0] as { balance: number }).balance
    const more = [1, 2, 3].map((nth) => balanceOf(1000 + nth))
    for (const event of more) publications.event(account, event)
    await until('the others', () => events.length >= balance - first + 4)
    expect(events.slice(-3)).to.deep.equal(more)
    leave()
  })

  it('are all published where the process does not hear who follows', async () => {
    const [redis, account] = [connect(), anAccountId()]
    const publications = new Publications(redis, prefix)
    const count = countsPublishing(redis)
    for (let nth = 1; nth <= 3; nth++) {
      publications.event(account, balanceOf(nth))
      await until('it to be published', () => count() === nth)
    }
  })

  it('are not left out where a follower comes while the answer that nobody listens is on its way', async () => {
    const account = anAccountId()
    const subscriber = connect()
    let answer = (_listeners: number): void => {}
    const sent: string[] = []
    const publications = new Publications(
      {
        publish: ((channel: string) => {
          sent.push(channel)
          return new Promise((resolve) => {
            answer = resolve
          })
        }) as Redis['publish'],
      },
      prefix,
    )
    publications.listen(subscriber)
    const announced = new Publications(connect(), prefix)
    await until('the process to listen', async () => {
      const [, listeners] = (await connect().pubsub('NUMSUB', `${prefix}:follow`)) as [string, number]
      return Number(listeners) === 1
    })
    const heard = new Promise((resolve) => subscriber.once('message', resolve))
    publications.event(account, balanceOf(1))
    await nextTurn()
    await announced.follow(account)
    await heard
    answer(0)
    await nextTurn()
    publications.event(account, balanceOf(2))
    await nextTurn()
    expect(sent).to.deep.equal([eventChannel(prefix, account), eventChannel(prefix, account)])
  })
})
