import { expect } from 'chai'
import { findProgram } from '../../scripts/services/processes.ts'
import { checkRedis } from '../../src/shared/platform/process/start-up.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import type { RedisCluster } from '../support/redis-cluster.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'

const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }

describe('on a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster
  before(async function () {
    const program = findProgram('redis-server')
    if (program === undefined) {
      process.stderr.write('skipped: there is no redis-server on this machine\n')
      return this.skip()
    }
    cluster = await startRedisCluster(program)
  })
  after(() => cluster?.stop())

  it('serves calls if REDIS_PREFIX has a hash tag and REDIS_URL names the node that has it', async () => {
    const prefix = '{tollgate}'
    const { owner } = await cluster.ownerOf(prefix)
    const gateway = await startGateway({ DATABASE_URL: await newDatabaseUrl(), REDIS_URL: owner, REDIS_PREFIX: prefix })
    try {
      const account = await anAccount(gateway.db, 100_000)
      const replies = await Promise.all([
        ...Array.from({ length: 40 }, () => post(`${gateway.url}/v1/chat/completions`, account.key, chat)),
        post(`${gateway.url}/v1/chat/completions`, account.key, { ...chat, stream: true }),
        post(`${gateway.url}/v1/images/generations`, account.key, { model: 'sandbox-image', prompt: 'a boat' }),
        post(`${gateway.url}/v1/videos/generations`, account.key, { model: 'sandbox-video', prompt: 'a boat' }),
      ])
      expect(replies.map(({ status }) => status)).to.deep.equal(replies.map(() => 200))
      expect(await balanceOf(gateway.db, account.id)).to.be.below(100_000)
      await expectBooksToBalance(gateway.db)
      // All keys are in one slot, on one node.
      const urls = (await cluster.sizes()).flatMap((size, node) => (size > 0 ? [cluster.urls[node]] : []))
      expect(urls).to.deep.equal([owner])
    } finally {
      await gateway.stop()
    }
  })

  it('is refused at the start if REDIS_URL names a node without the slot', async () => {
    const { others } = await cluster.ownerOf('{tollgate}')
    const config = { REDIS_URL: others[0]!, REDIS_TLS_VERIFY: 'on', REDIS_PREFIX: '{tollgate}' } as const
    const refusal = await checkRedis(config).catch((error: unknown) => error)
    expect(String(refusal)).to.match(/REDIS_URL: Redis cannot be used: MOVED/)
  })
})
