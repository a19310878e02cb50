import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Arena } from '../support/crash.ts'
import { startArena, untilEnded } from '../support/crash.ts'
import { expectBooksToBalance } from '../support/books.ts'

/** The script that adds a job to the queue of chats. */
const ADDS = 'script 9 chat:marker'

describe('a call whose connection to Redis is lost while it is enqueued', () => {
  let sandbox: Sandbox
  let arena: Arena
  before(async () => {
    sandbox = await createSandbox()
    arena = await startArena(sandbox)
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
})
