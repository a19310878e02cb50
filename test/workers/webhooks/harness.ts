import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { testConfig } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { AccountId, WebhookId } from '../../../src/shared/platform/ids.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { emitTo } from '../../../src/shared/webhooks/deliveries.ts'
import { createSecretBox } from '../../../src/shared/webhooks/secrets.ts'
import { createWebhook } from '../../../src/shared/webhooks/webhooks.ts'
import { startReceiver, startWebhookWorker } from '../../support/webhooks.ts'

/** What tests of the webhook worker use. */
export type WebhookKit = Awaited<ReturnType<typeof openWebhooks>>

/** Opens a database for webhooks, their receivers and workers. `cleanUp` belongs after each test, `end` after all. */
export async function openWebhooks() {
  const DATABASE_URL = await newDatabaseUrl()
  const config = await testConfig('http://127.0.0.1:9', { DATABASE_URL, WEBHOOK_ALLOW_PRIVATE: 'on' })
  const db = connectTestDb(config)
  const box = createSecretBox(config)
  const cleanUps: (() => Promise<unknown>)[] = []
  // Rounds that a test leaves in Redis are not those of the next one.
  let tests = 0
  const rowsOf = ({ id }: { id: WebhookId }) => db('webhook_deliveries').where({ webhook_id: id }).orderBy('id')
  const started = <T extends { stop: () => Promise<unknown> }>(one: T): T => {
    cleanUps.push(one.stop)
    return one
  }
  return {
    config,
    db,
    box,
    cleanUp: async () => {
      for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
      await db('webhooks').delete()
      tests += 1
    },
    end: () => db.destroy(),
    receiver: async (...args: Parameters<typeof startReceiver>) => started(await startReceiver(...args)),
    worker: (settings?: Parameters<typeof startWebhookWorker>[1], own = config) =>
      started(startWebhookWorker({ ...own, REDIS_PREFIX: `${config.REDIS_PREFIX}-${tests}` }, settings)),
    /** `owner` is an account of its own where absent; null: the operators. */
    aWebhook: async (url: string, owner?: AccountId | null) => {
      const account = owner === undefined ? (await anAccount(db)).id : owner
      const { webhook, secret } = await createWebhook(db, box, account, { url, types: ['key.created'] })
      return { id: parseId('webhook', webhook.id)!, secret, owner: account }
    },
    tell: async ({ id }: { id: WebhookId }, nth = 1) => (await emitTo(db, id, 'webhook.test', { nth }))!,
    rowsOf,
    reach: (webhook: { id: WebhookId }, status: string) =>
      until(`all deliveries are ${status}`, async () =>
        (await rowsOf(webhook)).every((row: { status: string }) => row.status === status),
      ),
  }
}
