import { once } from 'node:events'
import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Arena } from '../support/crash.ts'
import { callsOf, startArena, untilEnded } from '../support/crash.ts'
import { testQueues } from '../support/console.ts'
import { testConfig } from '../../scripts/harness/harness.ts'
import { createQueues } from '../../src/shared/queues.ts'
import { connectProducer, isRedisUnavailable } from '../../src/shared/platform/redis/redis.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { expectBooksToBalance } from '../support/books.ts'

/** The script that adds a job to the queue of chats. */
const ADDS = 'script 9 chat:marker'

/** Where each dialect is asked, and how it asks. */
const DIALECTS: [string, (content: string) => object][] = [
  ['chat/completions', (content) => ({ messages: [{ role: 'user', content }] })],
  ['messages', (content) => ({ max_tokens: 50, messages: [{ role: 'user', content }] })],
  ['responses', (input) => ({ input })],
  ['models/sandbox-chat:', (text) => ({ contents: [{ parts: [{ text }] }] })],
]

describe('a call whose connection to Redis is lost while it is enqueued', () => {
  let sandbox: Sandbox
  let arena: Arena
  before(async () => {
    sandbox = await createSandbox()
    // One call at a time: a second run of a call whose worker is alive is another worker's.
    arena = await startArena(sandbox, { CHAT_CONCURRENCY: '1', ACCOUNT_SHARE: '1' })
  })
  after(async () => {
    await arena.stop()
    await sandbox.close()
  })

  const ended = (account: AccountId): Promise<unknown> =>
    until('the call to end', () =>
      arena.db('calls').where({ account_id: account }).whereNotNull('finished_at').first('id'),
    )

  for (const side of ['before', 'after'] as const) {
    it(`${side} its job was taken is asked of its upstream once, answered and charged once`, async () => {
      for (let round = 0; round < 8; round++) {
        const prompt = `lost ${side} ${round}.`
        const account = await anAccount(arena.db, 100)
        arena.proxies.web.redis.watch({ label: ADDS, nth: 1, side })
        // A job that was taken has run, and is gone, when the connection is back: it is added a second time.
        if (side === 'after') arena.proxies.web.redis.admitAfter(ended(account.id))
        const reply = await post(`${arena.url}/v1/chat/completions`, account.key, {
          model: 'sandbox-chat',
          stream: true,
          messages: [{ role: 'user', content: `${prompt} [chunks 2 1]` }],
        })
        expect(arena.proxies.web.redis.hasCut).to.equal(true)
        expect([reply.status, reply.text.includes('[DONE]')], reply.text).to.deep.equal([200, true])
        const [call] = await untilEnded(arena.db, account.id)
        expect(call!.status).to.equal('succeeded')
        expect(sandbox.journal(prompt), 'requests that the upstream has seen').to.have.length(1)
      }
      await expectBooksToBalance(arena.db)
    })
  }

  it('and Redis loses its data is asked of its upstream once while its worker lives, and answered whole', async () => {
    const other = await startWorker(arena.config, createLog('silent', 'worker'), 100)
    const { queues, redis, stop } = testQueues(arena.config)
    const queue = queues.queue('chat')
    try {
      for (const [path, words] of DIALECTS) {
        for (const stream of [false, true]) {
          const prompt = `forgotten ${path} ${stream}.`
          const account = await anAccount(arena.db, 1000)
          arena.proxies.web.redis.watch({ label: ADDS, nth: 1, side: 'after' })
          let back = (): void => {}
          arena.proxies.web.redis.admitAfter(new Promise<void>((resolve) => (back = resolve)))
          const content = `${prompt} [hold] [answer as it was asked once]`
          // Gemini's paths name what others have in the body.
          const isNamed = path.endsWith(':')
          const verb = isNamed ? (stream ? 'streamGenerateContent' : 'generateContent') : ''
          const body = { ...(!isNamed && { model: 'sandbox-chat', stream }), ...words(content) }
          const headers = { 'x-goog-api-key': account.key }
          const asked = post(`${arena.url}/v1/${path}${verb}`, account.key, body, headers)
          await until('the upstream to have it', () => sandbox.journal(prompt).length > 0)
          await redis.del(await redis.keys(`${arena.config.REDIS_PREFIX}:chat:*`))
          back()
          const [call] = await callsOf(arena.db, account.id)
          await until('the second run to wait', async () => (await queue.getJobState(call!.id)) === 'delayed')
          sandbox.release(prompt)
          const reply = await asked
          expect([reply.status, reply.text.includes('once')], reply.text).to.deep.equal([200, true])
          expect((await untilEnded(arena.db, account.id))[0]).to.include({ status: 'succeeded', attempts: 1 })
          await (await queue.getJob(call!.id))?.promote()
          await until('the second run to end', async () => (await queue.getJobState(call!.id)) === 'unknown')
          expect(sandbox.journal(prompt), 'requests that the upstream has seen').to.have.length(1)
        }
      }
      await expectBooksToBalance(arena.db)
    } finally {
      await stop()
      await other.stop()
    }
  })
})

describe('a queue that is first used while its connection is lost', () => {
  it('works once that is back', async () => {
    const config = await testConfig('http://127.0.0.1:9')
    const redis = connectProducer(config)
    const queues = createQueues(redis, config.REDIS_PREFIX)
    try {
      await until('the connection', () => redis.status === 'ready')
      const back = once(redis, 'ready')
      redis.stream.destroy()
      const refusal = await queues.depth('chat').catch((error: Error) => error)
      expect(isRedisUnavailable(refusal as Error), String(refusal)).to.equal(true)
      await back
      expect(await queues.depth('chat')).to.equal(0)
    } finally {
      await queues.close()
      redis.disconnect()
    }
  })
})
