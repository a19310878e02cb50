import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { AccountId, DeliveryId, WebhookId } from '../../../src/shared/platform/ids.ts'
import { redeliver, emitTo } from '../../../src/shared/webhooks/deliveries.ts'
import { changeWebhook, showCallbackSecret } from '../../../src/shared/webhooks/webhooks.ts'
import type { Receiver } from '../../support/webhooks.ts'
import { openWebhooks } from './harness.ts'
import type { WebhookKit } from './harness.ts'

describe('the lanes of webhooks', () => {
  let kit: WebhookKit
  let { db, box, receiver, worker, aWebhook, tell, rowsOf, reach } = {} as WebhookKit
  before(async () => {
    kit = await openWebhooks()
    ;({ db, box, receiver, worker, aWebhook, tell, rowsOf, reach } = kit)
  })
  after(() => kit.end())
  afterEach(() => kit.cleanUp())

  const isSlow = async ({ id }: { id: WebhookId }): Promise<boolean> =>
    (await db('webhooks').where({ id }).first<{ is_slow: boolean }>('is_slow')).is_slow
  const askedAtOnce = (rounds: number, { received }: Receiver) =>
    until(`${rounds} rounds that hang`, () => received.length >= rounds)

  it('delivers for others at once while ten accounts have ten webhooks each that hang, in either lane', async () => {
    const [hanging, failing, good] = [await receiver(() => {}), await receiver(() => {}), await receiver()]
    const accounts = await Promise.all(Array.from({ length: 10 }, () => anAccount(db)))
    for (const { url } of [hanging, failing])
      for (const { id } of accounts) for (let nth = 0; nth < 5; nth++) await tell(await aWebhook(url, id))
    const [healthy, recovered] = [await aWebhook(good.url), await aWebhook(good.url)]
    await db('webhooks').where({ url: failing.url }).orWhere({ id: recovered.id }).update({ is_slow: true })
    worker()
    await Promise.all([askedAtOnce(40, hanging), askedAtOnce(20, failing)])
    for (const one of [healthy, recovered]) await emitTo(db, one.id, 'key.created', {})
    for (const one of [healthy, recovered]) await reach(one, 'delivered')
    expect([hanging.received.length, failing.received.length], 'no try has timed out').to.deep.equal([40, 20])
    expect(await isSlow(recovered)).to.equal(false)
    await Promise.all([hanging.stop(), failing.stop()])
  })

  it('delivers to operators while customers hold every place, and gives a free place to another account', async () => {
    const open: ServerResponse[] = []
    const hanging = await receiver((response) => void open.push(response))
    const good = await receiver()
    const [fast, slow, next] = [await aWebhook(hanging.url), await aWebhook(hanging.url), await aWebhook(good.url)]
    const operators = await aWebhook(good.url, null)
    await db('webhooks').where({ id: slow.id }).update({ is_slow: true })
    for (const one of [fast, slow]) await tell(one)
    const { queues } = worker({ concurrency: 1 })
    await askedAtOnce(2, hanging)
    await tell(next)
    await until('the next account waits', async () => (await queues.jobCounts('webhooks')).delayed === 1)
    await tell(operators)
    await reach(operators, 'delivered')
    expect(hanging.received.length, 'no try has timed out').to.equal(2)
    const freedAt = performance.now()
    for (const response of open) response.end()
    await reach(next, 'delivered')
    expect(performance.now() - freedAt, 'not by its return after some seconds').to.be.below(4000)
  })

  it('leaves the slow lane only by an event delivered in it: not by a test, nor by a round begun before', async () => {
    const open: ServerResponse[] = []
    const { url, received } = await receiver((response) => void open.push(response))
    const webhook = await aWebhook(url)
    const say = async (type: string, status: number, count = received.length) => {
      await emitTo(db, webhook.id, type, {})
      await until('the event has come', () => received.length > count)
      open.at(-1)!.writeHead(status).end()
      await reach(webhook, status === 204 ? 'delivered' : 'failed')
    }
    for (const nth of [1, 2]) await tell(webhook, nth)
    worker({ schedule: { pauseMs: () => null } })
    await until('two tries of one round', () => open.length === 2)
    open[0]!.writeHead(500).end()
    await until('it has failed', () => isSlow(webhook))
    open[1]!.writeHead(204).end()
    await until('both tries are noted', async () => (await rowsOf(webhook)).every((row) => row.finished_at !== null))
    expect(await isSlow(webhook), 'after a success of the round before').to.equal(true)
    await db('webhook_deliveries').delete()
    await say('webhook.test', 204)
    expect(await isSlow(webhook), 'after a test event').to.equal(true)
    for (const disabled of [true, false]) await changeWebhook(db, webhook.owner, webhook.id, { disabled })
    expect(await isSlow(webhook), 'enabled again').to.equal(true)
    await say('key.created', 204)
    expect(await isSlow(webhook), 'after an event').to.equal(false)
  })

  it('notes a failure although its event was sent again, or its webhook disabled and enabled, meanwhile', async () => {
    const open: ServerResponse[] = []
    const { url, stop } = await receiver((response) => void open.push(response))
    const meanwhile = [
      (webhook: { id: WebhookId }, id: DeliveryId) => redeliver(db, webhook.id, id),
      async ({ id, owner }: { id: WebhookId; owner: AccountId | null }) => {
        for (const disabled of [true, false]) await changeWebhook(db, owner, id, { disabled })
      },
    ]
    worker({ schedule: { pauseMs: () => null } })
    for (const act of meanwhile) {
      const webhook = await aWebhook(url)
      const [id, asked] = [await tell(webhook), open.length]
      await until('it is on its way', () => open.length > asked)
      await act(webhook, id)
      open[asked]!.writeHead(500).end()
      // A later try would fail as well, and be noted.
      await until('its try is recorded', () => db('webhook_tries').where({ delivery_id: id }).first('delivery_id'))
      expect(await isSlow(webhook)).to.equal(true)
      await db('webhooks').delete()
    }
    // What was sent again would wait for its answer.
    await stop()
  })

  it('puts the callbacks of an account into the slow lane when one fails, and never disables them', async () => {
    const { url } = await receiver((response, nth) => response.writeHead(nth === 1 ? 500 : 204).end())
    const { id: account } = await anAccount(db)
    await showCallbackSecret(db, box, account)
    const row = await db('webhooks').where({ account_id: account }).first<{ id: WebhookId }>('id')
    await db('webhooks')
      .where({ id: row.id })
      .update({ failing_since: db.raw(`now() - interval '6 days'`) })
    const callBack = async (): Promise<void> => {
      const id = await emitTo(db, row.id, 'call.succeeded', {})
      await db('webhook_deliveries').where({ id: id! }).update({ url })
    }
    await callBack()
    worker({ schedule: { pauseMs: () => null } })
    await reach(row, 'failed')
    expect(await db('webhooks').where({ id: row.id }).first()).to.include({ is_slow: true, disabled_at: null })
    await db('webhook_deliveries').delete()
    await callBack()
    await reach(row, 'delivered')
    expect(await isSlow(row)).to.equal(false)
  })
})
