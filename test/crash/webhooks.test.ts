import { expect } from 'chai'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { useInstallation } from '../support/installed.ts'
import { until } from '../../scripts/harness/until.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { createWebhook } from '../../src/shared/webhooks/webhooks.ts'
import { startReceiver } from '../support/webhooks.ts'
import { callOnce, image } from './clients.ts'

const WORKERS = { WORKER_QUEUES: 'image,webhooks,maintenance', WEBHOOK_ALLOW_PRIVATE: 'on' }

describe('an event', () => {
  const town = useInstallation()
  let web: Program
  before(async () => {
    web = await town.start('web', { WEBHOOK_ALLOW_PRIVATE: 'on' })
  })

  it('survives the kill of every worker between its cause and its delivery, and the loss of Redis', async () => {
    let hangs = true
    const receiver = await startReceiver((response) => {
      if (!hangs) response.writeHead(204).end()
    })
    const caller = await town.start('worker', { ...WORKERS, WORKER_QUEUES: 'image' })
    const account = await anAccount(town.db, 1000)
    await createWebhook(town.db, createSecretBox(town.config), account.id, {
      url: receiver.url,
      types: ['call.succeeded'],
    })
    const { status } = await callOnce(web.url, account.key, image('the cause of an event'))
    expect(status).to.equal(200)
    // Killed when nobody has been told yet.
    await caller.kill()
    const teller = await town.start('worker', WORKERS)
    await until('the receiver is asked', () => receiver.received.length > 0)
    // Killed when the receiver has the event, and has not answered.
    await teller.kill()
    await flush()
    hangs = false
    // What a claim of a minute ends by itself.
    await town.db('webhook_deliveries').where({ status: 'sending' }).update({ next_try_at: town.db.fn.now() })
    const next = await town.start('worker', WORKERS)
    await until('the event is delivered', async () =>
      (await town.db('webhook_deliveries')).every((row: { status: string }) => row.status === 'delivered'),
    )
    const [first, ...others] = receiver.received
    expect(others).to.have.length(1)
    expect(others[0]!.body).to.equal(first!.body)
    expect(others[0]!.headers['webhook-id']).to.equal(first!.headers['webhook-id'])
    await next.kill()
    await receiver.stop()
    // Four processes start, one after the other.
  }).timeout(150_000)

  async function flush(): Promise<void> {
    const redis = connectPersistent(town.config)
    const keys = await redis.keys(`${town.config.REDIS_PREFIX}:*`)
    if (keys.length > 0) await redis.del(keys)
    redis.disconnect()
  }
})
