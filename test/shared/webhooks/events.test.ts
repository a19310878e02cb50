import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { EVENTS } from '../../../src/api/endpoint/event-schemas.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { createKey, revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { noteOpening } from '../../../src/shared/operators/upstreams.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { LISTED_TYPES, OPERATOR_TYPES } from '../../../src/shared/webhooks/types.ts'
import { deleteOldDeliveries, deleteWebhooksOf, emitGrantEvents } from '../../../src/shared/webhooks/deliveries.ts'
import { createSecretBox } from '../../../src/shared/webhooks/secrets.ts'
import { createWebhook, deleteWebhook, makeCallbackSecret } from '../../../src/shared/webhooks/webhooks.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aGrant, aMember, anAccount, anOrganisation } from '../../../scripts/harness/factories.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { aResult, opened, spent, verbs } from '../calls/opening.ts'
import { aHouse } from './house.ts'
import { useBooks } from '../../support/database.ts'

const SECRET = 'a secret of the tests, long enough for it'
const box = createSecretBox({ APP_SECRET: SECRET })

const EVERY_TYPE = LISTED_TYPES.filter((type) => type !== 'chat')

const FAILURE = gatewayError('upstream_failed')

describe('an event', () => {
  const db = useBooks({ isOwn: true })

  const aWebhook = (account: TestAccount, types: readonly string[] = EVERY_TYPE) =>
    createWebhook(db, box, account.id, { url: 'https://receiver.example/events', types })

  /** What an account is told, oldest first. */
  const toldTo = async ({ id }: Pick<TestAccount, 'id'>, by: Db = db) =>
    (
      await by('webhook_deliveries')
        .join('webhooks', 'webhooks.id', 'webhook_id')
        .where({ account_id: id })
        .orderBy('webhook_deliveries.id')
        .select<{ type: string; body: string; url: string | null; event_id: string }[]>(
          'webhook_deliveries.type',
          'body',
          'webhook_deliveries.url',
          'event_id',
        )
    ).map(({ body, ...row }) => {
      const event = JSON.parse(body)
      EVENTS.find(({ type }) => type === row.type)!.body.parse(event)
      return { ...row, body: event }
    })

  const typesToldTo = async (account: TestAccount) => (await toldTo(account)).map(({ type }) => type)

  describe('of a call', () => {
    it('is written when the call has ended, with what it cost and no word of its result', async () => {
      const account = await anAccount(db, 100)
      await aWebhook(account)
      const calls = verbs(db)
      const id = await opened(calls, account, 10)
      expect(await toldTo(account)).to.deep.equal([])
      await calls.settle(id, 'image', aResult(7))
      const [event, ...others] = await toldTo(account)
      expect(others).to.deep.equal([])
      expect(event!.type).to.equal('call.succeeded')
      expect(event!.body.timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      const { call, ...data } = event!.body.data
      expect(parseId('call', call)).to.equal(id)
      expect(data).to.deep.equal({
        status: 'succeeded',
        model: 'some-image',
        modality: 'image',
        pictures: null,
        credits: 7,
        balance: 93,
        error: null,
      })
    })

    it('is written of one that fails, with the code of its error, and once', async () => {
      const account = await anAccount(db, 100)
      await aWebhook(account)
      const calls = verbs(db)
      const id = await opened(calls, account, 10)
      for (let time = 0; time < 2; time += 1) await calls.refund(id, FAILURE)
      const told = await toldTo(account)
      expect(told.map(({ type }) => type)).to.deep.equal(['call.failed'])
      expect(told[0]!.body.data).to.include({ status: 'failed', credits: 0, error: 'upstream_failed' })
    })

    it('is not written of a chat that somebody waits for, but where a webhook lists chat', async () => {
      const account = await anAccount(db, 100)
      const chat = { modality: 'chat', estimate: { input: 1, output: 1 } } as const
      const calls = verbs(db)
      await aWebhook(account)
      await calls.settle(await opened(calls, account, 10, chat), 'chat', aResult(1))
      expect(await typesToldTo(account)).to.deep.equal([])
      await calls.settle(await opened(calls, account, 10, { ...chat, isAsync: true }), 'chat', aResult(1))
      expect(await typesToldTo(account)).to.deep.equal(['call.succeeded'])
      await aWebhook(account, ['call.succeeded', 'chat'])
      await calls.settle(await opened(calls, account, 10, chat), 'chat', aResult(1))
      expect(await typesToldTo(account)).to.deep.equal(['call.succeeded', 'call.succeeded'])
    })

    it('is not written of other calls that somebody waits for, where a webhook lists chat or not', async () => {
      const account = await anAccount(db, 100)
      const rerank = { modality: 'rerank' } as const
      const calls = verbs(db)
      for (const types of [EVERY_TYPE, LISTED_TYPES]) await aWebhook(account, types)
      await calls.settle(await opened(calls, account, 10, rerank), 'rerank', aResult(10))
      expect(await typesToldTo(account)).to.deep.equal([])
      await calls.settle(await opened(calls, account, 10, { ...rerank, isAsync: true }), 'rerank', aResult(10))
      expect(await typesToldTo(account)).to.deep.equal(['call.succeeded', 'call.succeeded'])
    })

    it('is written of a free call only where a webhook lists chat', async () => {
      const account = await anAccount(db, 100)
      const calls = verbs(db)
      await aWebhook(account)
      const listing = parseId('webhook', (await aWebhook(account, LISTED_TYPES)).webhook.id)
      for (const modality of ['moderation', 'chat', 'image'] as const) {
        const free = await opened(calls, account, 0, { modality, isAsync: true, estimate: { input: 0, output: 0 } })
        await calls.refund(free, gatewayError('upstream_failed'))
      }
      const told = await db('webhook_deliveries')
        .join('webhooks', 'webhooks.id', 'webhook_id')
        .where({ account_id: account.id })
      expect(told.map((row) => row.webhook_id)).to.deep.equal([listing, listing, listing])
    })

    it('is one event for all its receivers, and none for another account', async () => {
      const [account, other] = [await anAccount(db, 100), await anAccount(db, 100)]
      for (const one of [account, account, other]) await aWebhook(one)
      const calls = verbs(db)
      await calls.settle(await opened(calls, account, 10), 'image', aResult(1))
      const told = await toldTo(account)
      expect(told).to.have.length(2)
      expect(told[0]).to.deep.equal(told[1])
      expect(await toldTo(other)).to.deep.equal([])
    })

    it('goes to the address that the call named, beside the webhooks', async () => {
      const account = await anAccount(db, 100)
      await makeCallbackSecret(db, box, account.id)
      const calls = verbs(db)
      await calls.settle(await opened(calls, account, 10), 'image', aResult(1))
      expect(await toldTo(account)).to.deep.equal([])
      await calls.settle(
        await opened(calls, account, 10, { callbackUrl: 'https://one.example/done' }),
        'image',
        aResult(1),
      )
      expect((await toldTo(account)).map(({ url }) => url)).to.deep.equal(['https://one.example/done'])
    })

    it('is written with the end of its call, or neither is', async () => {
      const account = await anAccount(db, 100)
      const { webhook } = await aWebhook(account)
      const id = await opened(verbs(db), account, 10)
      await db.raw(`ALTER TABLE webhook_deliveries ADD CONSTRAINT broken CHECK (type <> 'call.succeeded') NOT VALID`)
      try {
        const settling = verbs(db).settle(id, 'image', aResult(1))
        const failure: unknown = await settling.catch((error: unknown) => error)
        expect(String(failure)).to.include('broken')
        expect(await db('calls').where({ id }).first('status')).to.deep.equal({ status: 'queued' })
      } finally {
        await db.raw('ALTER TABLE webhook_deliveries DROP CONSTRAINT broken')
      }
      await verbs(db).settle(id, 'image', aResult(1))
      expect(await typesToldTo(account)).to.deep.equal(['call.succeeded'])
      expect(webhook.id).to.match(/^wh_/)
    })
  })

  it('costs the calls of an account without webhooks nothing: no statement of one looks for them', async () => {
    const account = await anAccount(db, 100)
    const { webhook } = await aWebhook(account)
    await deleteWebhook(db, account.id, parseId('webhook', webhook.id)!)
    expect(await db('accounts').where({ id: account.id }).first('has_webhooks')).to.deep.equal({ has_webhooks: false })
    await db('accounts').where({ id: account.id }).update({ low_balance_below: 95 })
    // Nobody else can look at either table meanwhile: what does would wait.
    await db.transaction(async (trx) => {
      await trx.raw('LOCK TABLE webhooks, webhook_deliveries IN ACCESS EXCLUSIVE MODE')
      const calls = verbs(db)
      await calls.settle(await opened(calls, account, 10), 'image', aResult(10))
      await calls.refund(await opened(calls, account, 10), FAILURE)
    })
    const { low_balance_state: low } = await db('accounts').where({ id: account.id }).first('low_balance_state')
    expect(low, 'the balance was low').not.to.equal('armed')
  })

  it('is written of keys that are made and revoked, with their names and never a secret', async () => {
    const account = await anAccount(db, 100)
    await aWebhook(account)
    const { id, secret } = await createKey(db, account.id, 'of the shop')
    for (let time = 0; time < 2; time += 1) await revokeKey(db, allOf(account.id), id)
    const told = await toldTo(account)
    expect(told.map(({ type }) => type)).to.deep.equal(['key.created', 'key.revoked'])
    for (const { body } of told) expect(parseId('key', body.data.key)).to.equal(id)
    expect(JSON.stringify(told)).not.to.include(secret)
  })

  it('fails no cause while its webhook is being deleted', async () => {
    const account = await anAccount(db, 100)
    const call = await opened(verbs(db), account, 10)
    const causes: [statement: string, cause: () => Promise<unknown>][] = [
      ['%api_keys%', () => revokeKey(db, allOf(account.id), account.keyId)],
      ['%end_calls%', () => verbs(db).settle(call, 'image', aResult(1))],
      ['%circuit_openings%', () => noteOpening(db, 'acme')],
    ]
    await aWebhook(account)
    const house = await aHouse(db)
    for (const [statement, cause] of causes) {
      const deleted = await aWebhook(account)
      const ofHouse = await createWebhook(db, box, null, { url: 'https://house.example/', types: OPERATOR_TYPES })
      const deletion = await db.transaction()
      const ids = [deleted, ofHouse].map(({ webhook }) => parseId('webhook', webhook.id)!)
      await deletion('webhooks').whereIn('id', ids).delete()
      const caused = cause()
      await untilItWaits(db, statement)
      await deletion.commit()
      await caused
    }
    expect(await typesToldTo(account)).to.deep.equal(['key.revoked', 'call.succeeded'])
    expect((await house.told()).map(({ type }) => type)).to.deep.equal(['upstream.unhealthy'])
    await house.end()
  })

  it('is written of a balance that falls below its mark, once per crossing and not for what calls hold', async () => {
    const account = await anAccount(db, 100)
    await aWebhook(account, ['balance.low'])
    await db('accounts').where({ id: account.id }).update({ low_balance_below: 50 })
    const calls = verbs(db)
    for (let time = 0; time < 3; time++) await calls.refund(await opened(calls, account, 100), FAILURE)
    expect(await toldTo(account)).to.deep.equal([])
    for (const amount of [30, 30, 10]) await spent(calls, account, amount)
    const told = await toldTo(account)
    expect(told.map(({ body }) => body.data)).to.deep.equal([{ balance: 40, below: 50 }])
  })

  it('is written of a budget that is spent, once a window', async () => {
    const account = await anAccount(db, 100)
    await aWebhook(account, ['budget.exceeded'])
    await changeKey(db, account.keyId, { budget: { credits: 20, period: 'month' } })
    const calls = verbs(db)
    await spent(calls, account, 17)
    await calls.refund(await opened(calls, account, 3), FAILURE)
    expect(await toldTo(account), 'a hold is not spent').to.deep.equal([])
    await spent(calls, account, 3)
    const told = await toldTo(account)
    expect(told).to.have.length(1)
    expect(told[0]!.body.data).to.include({ credits: 20, used: 20 })
    expect(parseId('key', told[0]!.body.data.key)).to.equal(account.keyId)
    const [budget] = await db('budgets').where({ key_id: account.keyId }).pluck('id')
    const trx = await db.transaction()
    await trx('budget_windows').insert({ budget_id: budget, starts_at: '2020-01-01', used: 20 })
    expect((await toldTo(account, trx))[1]!.body.data).to.include({ startsAt: '2020-01-01T00:00:00.000Z' })
    await trx.rollback()
  })

  it('is written of a budget of a member that is spent, and names the member', async () => {
    const organisation = await anOrganisation(db, 100)
    await aWebhook(organisation, ['budget.exceeded'])
    const member = await aMember(db, organisation, { budget: { credits: 20, period: 'total' } })
    await spent(verbs(db), member, 20)
    const told = await toldTo(organisation)
    expect(told).to.have.length(1)
    expect(told[0]!.body.data).to.deep.include({ credits: 20, used: 20, startsAt: null })
    expect(parseId('user', told[0]!.body.data.member)).to.equal(member.userId)
  })

  it('is written of a grant that ends within seven days, once', async () => {
    const account = await anAccount(db, 100)
    await aWebhook(account)
    await aGrant(db, account.id, { amount: 5, days: 8 })
    const soon = await aGrant(db, account.id, { amount: 7, days: 6 })
    while ((await emitGrantEvents(db, 100)) > 0);
    const told = await toldTo(account)
    expect(told.map(({ type }) => type)).to.deep.equal(['credits.expiring'])
    expect(told[0]!.body.data).to.include({ credits: 7 })
    expect(parseId('grant', told[0]!.body.data.grant)).to.equal(soon)
  })

  it('is written of a payment that is paid, refunded and disputed, each time that more is', async () => {
    const account = await anAccount(db)
    await aWebhook(account)
    const house = await aHouse(db)
    const payment = { id: newId('payment'), account_id: account.id, provider: 'stripe', kind: 'checkout' }
    const bought = { live_mode: false, currency: 'eur', amount_minor: 500, credits: 1000 }
    // All of it is undone: nothing was granted for what these rows say.
    const trx = await db.transaction()
    try {
      await trx('payments').insert({ ...payment, ...bought })
      const change = (columns: object) => trx('payments').where({ id: payment.id }).update(columns)
      await change({ status: 'review', review_reason: 'amount' })
      await change({ status: 'paid', review_reason: null, intent: 'pi_1', paid_at: trx.fn.now() })
      await change({ version: 2 })
      await change({ refunded_minor: 100 })
      await change({ refunded_minor: 50 })
      await change({ disputed_minor: 300 })
      const told = await toldTo(account, trx)
      expect(told.map(({ type }) => type)).to.deep.equal(['payment.succeeded', 'payment.refunded', 'payment.disputed'])
      expect(told[1]!.body.data).to.include({ status: 'paid', credits: 1000, amountMinor: 500, refundedMinor: 100 })
      const types = (await house.told(trx)).map(({ type }) => type)
      expect(types).to.deep.equal(['payment.review', 'payment.disputed'])
    } finally {
      await trx.rollback()
      await house.end()
    }
  })

  it('is gone with its account, and after its time', async () => {
    const account = await anAccount(db, 100)
    await aWebhook(account)
    await createKey(db, account.id, 'one')
    await db('webhook_deliveries').update({ created_at: db.raw(`now() - interval '31 days'`) })
    await deleteOldDeliveries(db, 100)
    expect(await toldTo(account), 'what still waits is kept').to.have.length(1)
    await db('webhook_deliveries').update({ status: 'delivered', finished_at: db.fn.now() })
    await deleteOldDeliveries(db, 100)
    expect(await toldTo(account)).to.have.length(0)
    await db.transaction((trx) => deleteWebhooksOf(trx, account.id))
    expect(await db('webhooks').where({ account_id: account.id })).to.deep.equal([])
  })
})
