import { expect } from 'chai'
import OpenAI from 'openai'
import { Webhook as Verifier } from 'standardwebhooks'
import type { WorkerConfig } from '../../../src/workers/deps.ts'
import type { WebhookId } from '../../../src/shared/platform/ids.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { findDelivery, redeliver } from '../../../src/shared/webhooks/deliveries.ts'
import { changeWebhook, rotateWebhook, showCallbackSecret } from '../../../src/shared/webhooks/webhooks.ts'
import { anAccount, proveAddress } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import { answering, LOOPBACK, PUBLIC } from '../fetching/harness.ts'
import type { Received } from '../../support/webhooks.ts'
import { openWebhooks } from './harness.ts'
import type { WebhookKit } from './harness.ts'

describe('the webhook worker', () => {
  let kit: WebhookKit
  let { config, db, box, receiver, worker, aWebhook, tell, rowsOf, reach } = {} as WebhookKit
  before(async () => {
    kit = await openWebhooks()
    ;({ config, db, box, receiver, worker, aWebhook, tell, rowsOf, reach } = kit)
  })
  after(() => kit.end())
  afterEach(() => kit.cleanUp())

  const verified = ({ body, headers }: Received, secret: string): unknown =>
    new Verifier(secret).verify(body, headers as Record<string, string>)

  it('delivers what standardwebhooks and the SDK of OpenAI verify', async () => {
    const { url, received } = await receiver()
    const webhook = await aWebhook(url)
    await tell(webhook, 7)
    worker()
    await reach(webhook, 'delivered')
    const [request] = received
    expect(request!.headers).to.include({ 'content-type': 'application/json', 'user-agent': 'tollgate' })
    expect(request!.headers['webhook-id']).to.match(/^evt_[0-9a-f]{32}$/)
    expect(verified(request!, webhook.secret)).to.deep.include({ type: 'webhook.test', data: { nth: 7 } })
    const { webhooks } = new OpenAI({ apiKey: 'none', webhookSecret: webhook.secret })
    const headers = request!.headers as Record<string, string>
    expect(await webhooks.unwrap(request!.body, headers)).to.deep.include({ type: 'webhook.test' })
    expect(() => verified({ ...request!, body: `${request!.body} ` }, webhook.secret)).to.throw()
    expect(() => verified(request!, 'whsec_c29tZWJvZHkgZWxzZQ==')).to.throw()
  })

  it('signs with both secrets after a rotation, and a day later with the new one alone', async () => {
    const { url, received } = await receiver()
    const webhook = await aWebhook(url)
    const next = (await rotateWebhook(db, box, webhook.owner, webhook.id))!
    await tell(webhook)
    worker()
    await reach(webhook, 'delivered')
    for (const secret of [webhook.secret, next]) verified(received[0]!, secret)
    await db('webhooks').where({ id: webhook.id }).update({ previous_until: db.fn.now() })
    await tell(webhook)
    await reach(webhook, 'delivered')
    verified(received[1]!, next)
    expect(() => verified(received[1]!, webhook.secret)).to.throw()
  })

  it('tries again with the same id and bytes until it is answered 2xx, each try with a time of its own', async () => {
    const { url, received } = await receiver((response, nth) =>
      response.writeHead([500, 404, 429, 200][nth - 1]!).end(),
    )
    const webhook = await aWebhook(url)
    await tell(webhook)
    worker()
    await reach(webhook, 'delivered')
    expect(received).to.have.length(4)
    expect(new Set(received.map(({ body }) => body)).size).to.equal(1)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1)
    for (const one of received) verified(one, webhook.secret)
    expect((await rowsOf(webhook))[0]).to.include({ tries: 4, answer_status: 200, note: null })
    expect((await db('webhooks').where({ id: webhook.id }).first()).failing_since).to.equal(null)
  })

  it('gives up after ten tries, and sends again on demand the same id and bytes', async () => {
    let isUp = false
    const { url, received } = await receiver((response) => response.writeHead(isUp ? 200 : 500).end('secret words'))
    const webhook = await aWebhook(url)
    const id = await tell(webhook)
    worker()
    await reach(webhook, 'failed')
    expect(received).to.have.length(10)
    expect((await rowsOf(webhook))[0]).to.include({ answer_status: 500, note: 'refused' })
    const { tries } = (await findDelivery(db, webhook.id, id))!
    expect(tries[0]).to.include({ status: 500, note: 'refused', answer: 'secret words' })
    expect(JSON.stringify(await rowsOf(webhook)), 'nothing of the answer is kept').not.to.include('secret words')
    isUp = true
    expect(await redeliver(db, webhook.id, id)).to.equal(true)
    await reach(webhook, 'delivered')
    expect(received.at(-1)!.body).to.equal(received[0]!.body)
    expect(received.at(-1)!.headers['webhook-id']).to.equal(received[0]!.headers['webhook-id'])
  })

  it('follows no redirect', async () => {
    const target = await receiver()
    const { url } = await receiver((response) => response.writeHead(307, { location: target.url }).end())
    const webhook = await aWebhook(url)
    await tell(webhook)
    worker()
    await reach(webhook, 'failed')
    expect(target.received).to.deep.equal([])
    expect((await rowsOf(webhook))[0].answer_status).to.equal(307)
  })

  it('is disabled by a 410; what waited is kept, and delivered when it is enabled', async () => {
    let isGone = true
    const { url, received } = await receiver((response) => response.writeHead(isGone ? 410 : 204).end())
    const owner = await anAccount(db)
    await proveAddress(db, owner)
    const webhook = await aWebhook(url, owner.id)
    for (const nth of [1, 2, 3]) await tell(webhook, nth)
    worker()
    await until('it is disabled', async () => (await db('webhooks').where({ id: webhook.id }).first()).disabled_at)
    await reach(webhook, 'held')
    expect((await db('webhooks').where({ id: webhook.id }).first()).disabled_reason).to.equal('gone')
    const mails = await db('mails').where({ kind: 'webhook_off' })
    expect(mails.map(({ details }: { details: object }) => details)).to.deep.equal([{ url, reason: 'gone' }])
    isGone = false
    const before = received.length
    await changeWebhook(db, webhook.owner, webhook.id, { disabled: false })
    await reach(webhook, 'delivered')
    expect(received.slice(before).map(({ body }) => JSON.parse(body).data.nth)).to.have.members([1, 2, 3])
  })

  it('is disabled after five days without a success, and not before', async () => {
    const { url } = await receiver((response) => response.writeHead(500).end())
    const webhook = await aWebhook(url)
    const since = (hours: number) =>
      db('webhooks')
        .where({ id: webhook.id })
        .update({ failing_since: db.raw('now() - make_interval(hours => ?)', [hours]) })
    await since(119)
    await tell(webhook)
    worker()
    await reach(webhook, 'failed')
    expect((await db('webhooks').where({ id: webhook.id }).first()).disabled_at).to.equal(null)
    await since(121)
    await tell(webhook)
    await until('it is disabled', async () => (await db('webhooks').where({ id: webhook.id }).first()).disabled_at)
    expect((await db('webhooks').where({ id: webhook.id }).first()).disabled_reason).to.equal('failing')
  })

  it('gives a call its own address, signed with the secret of the account, and ends that by a 410 alone', async () => {
    const { url, received } = await receiver((response, nth) => response.writeHead(nth === 1 ? 410 : 200).end())
    const { id: account } = await anAccount(db)
    const secret = (await showCallbackSecret(db, box, account))!
    const row = await db('webhooks').where({ account_id: account }).first<{ id: WebhookId }>('id')
    for (const nth of [1, 2]) {
      await tell(row, nth)
      await db('webhook_deliveries').where({ webhook_id: row.id }).whereNull('url').update({ url })
      if (nth === 1) worker()
      await until('it is finished', async () => (await rowsOf(row)).every((one) => one.finished_at !== null))
    }
    expect((await rowsOf(row)).map(({ status }: { status: string }) => status)).to.deep.equal(['failed', 'delivered'])
    for (const one of received) verified(one, secret)
  })

  it('loses nothing when its worker dies before it notes the answer, nor when Redis forgets everything', async () => {
    const { url, received } = await receiver()
    const webhook = await aWebhook(url)
    const id = await tell(webhook)
    // As a worker that died leaves it: taken, and sent or not.
    await db('webhook_deliveries').where({ id }).update({ status: 'sending', tries: 1 })
    await db('webhook_deliveries')
      .where({ id })
      .update({ next_try_at: db.raw(`now() + interval '1 hour'`) })
    const { flush } = worker()
    const other = await aWebhook(url)
    await tell(other)
    await reach(other, 'delivered')
    expect((await rowsOf(webhook))[0].status, 'its claim still holds').to.equal('sending')
    await db('webhook_deliveries').where({ id }).update({ next_try_at: db.fn.now() })
    await flush()
    await reach(webhook, 'delivered')
    expect(received).to.have.length(2)
  })

  it('delivers each event once, by however many workers', async () => {
    const { url, received } = await receiver()
    const webhook = await aWebhook(url)
    for (let nth = 0; nth < 50; nth += 1) await tell(webhook, nth)
    for (let count = 0; count < 3; count += 1) worker()
    await reach(webhook, 'delivered')
    expect(received.map(({ body }) => JSON.parse(body).data.nth).toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 50 }, (_, nth) => nth),
    )
  })

  describe('without WEBHOOK_ALLOW_PRIVATE', () => {
    const guarded = (): WorkerConfig => ({ ...config, WEBHOOK_ALLOW_PRIVATE: 'off' })

    /** One of each kind that leads inside, or is none of a receiver. All spellings: test/workers/fetching. */
    const REFUSED = (
      'https://127.0.0.1:PORT/ https://2130706433:PORT/ https://[::ffff:127.0.0.1]:PORT/ https://sub.localhost:PORT/ ' +
      'https://10.0.0.1/ https://169.254.169.254/latest/meta-data/ https://[fd00::1]/ ' +
      'https://user:pass@receiver.example/ https://receiver.example:22/ http://receiver.example/ ' +
      'ftp://receiver.example/'
    ).split(' ')

    it('connects to no address that is not public, however it came into the row', async () => {
      const { url, received } = await receiver()
      const port = new URL(url).port
      worker({ fetching: { resolver: answering(LOOPBACK) } }, guarded())
      await Promise.all(
        REFUSED.map(async (address) => {
          const webhook = await aWebhook(address.replace('PORT', port))
          await tell(webhook)
          await reach(webhook, 'failed')
          expect((await rowsOf(webhook))[0], address).to.include({ note: 'not_allowed', answer_status: null })
        }),
      )
      expect(received).to.deep.equal([])
    })

    it('is not fooled by a name that is public when it is checked and private when it is connected to', async () => {
      const { url, received } = await receiver()
      const resolver = answering(PUBLIC, LOOPBACK)
      const dialled: string[] = []
      const dial = (address: { address: string; family: number }) => {
        dialled.push(address.address)
        return LOOPBACK[0]!
      }
      const webhook = await aWebhook(`https://rebinding.example:${new URL(url).port}/`)
      await tell(webhook)
      worker({ fetching: { resolver, dial } }, guarded())
      await reach(webhook, 'failed')
      // One question a try: what was checked is what was dialled, and each later answer was refused.
      expect(dialled).to.have.members(PUBLIC.map(({ address }) => address))
      expect(resolver.asked).to.have.length(10)
      expect((await rowsOf(webhook))[0].note).to.equal('not_allowed')
      expect(received).to.deep.equal([])
    })

    it('says of a name that does not resolve that it does not, for each try', async () => {
      const nowhere = async () => {
        throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
      }
      const webhook = await aWebhook('https://nowhere.example/')
      await tell(webhook)
      worker({ fetching: { resolver: nowhere } }, guarded())
      await reach(webhook, 'failed')
      const [row] = await rowsOf(webhook)
      expect(row).to.include({ note: 'unresolved', answer_status: null })
      const { tries } = (await findDelivery(db, webhook.id, row!.id))!
      expect(tries.map(({ note, answer }) => [note, answer])).to.deep.equal(
        Array.from({ length: 10 }, () => ['unresolved', null]),
      )
    })
  })

  it('tries an event whose secret it cannot read, and says why', async () => {
    const webhook = await aWebhook('http://127.0.0.1:9/')
    await db('webhooks')
      .where({ id: webhook.id })
      .update({ secret: box.seal(newId('webhook'), Buffer.alloc(32)) })
    await tell(webhook)
    worker()
    await reach(webhook, 'failed')
    expect((await rowsOf(webhook))[0].note).to.equal('no_secret')
  })
})
