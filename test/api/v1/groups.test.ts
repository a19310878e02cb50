import { expect } from 'chai'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { setAccountGroup } from '../../../src/shared/operators/changes.ts'
import {
  CHAT,
  EMBEDDINGS,
  IMAGES,
  VIDEOS,
  callOf,
  chatBody,
  imageBody,
  prompted,
} from '../../../scripts/harness/calling.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Caller } from '../../support/caller.ts'
import { useGateway } from '../../support/gateway.ts'
import { untilItWaits } from '../../support/lock-waits.ts'

const FUNDS = 100_000
const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'

const GROUPS = {
  partner: { priceBasisPoints: 8000 },
  staff: { priceBasisPoints: 1 },
  dear: {
    priceBasisPoints: 12_345,
    models: ['sandbox-chat', 'odd-chat', 'sandbox-image'],
    rateLimit: 4,
    maxOutstanding: 2,
  },
}
type Group = keyof typeof GROUPS | null

const odd = (more: object = {}) => chatBody(prompted('[usage 10 5]'), { model: 'odd-chat', ...more })
const input = [Array.from({ length: 1004 }, (_, at) => at)]

/** A call of each kind for which an upstream reports what is asked for, and what is exactly due for it. */
const PAID: [title: string, path: string, body: () => object, due: number][] = [
  ['a chat', CHAT, () => odd(), 2.5],
  ['embeddings', EMBEDDINGS, () => ({ model: 'sandbox-embedding', input }), 100.4],
]

describe('groups of customers', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: '1000' }, (catalogue) => {
    Object.assign(catalogue, { groups: GROUPS, creditMicroUsd: 1000 })
    const chat = catalogue.models.find(({ id }) => id === 'sandbox-chat')!
    catalogue.models.push({ ...chat, id: 'odd-chat', pricing: { input: 1, output: 3, perTokens: 10, minimum: 1 } })
  })

  const regroup = async ({ id }: Caller, group: Group): Promise<void> => {
    expect(await setAccountGroup(gateway.db, null, id, group)).to.equal('done')
  }
  const aMember = async (group: Group): Promise<Caller> => {
    const account = await gateway.account(FUNDS)
    if (group !== null) await regroup(account, group)
    return account
  }
  const entryOf = async (account: Caller, model: string) => (await account.get(`/v1/models/${model}`)).json

  for (const [title, path, body, due] of PAID)
    it(`pay their share of the exact price, rounded up once: ${title}`, async () => {
      for (const [group, points] of [
        [null, 10_000],
        ['partner', 8000],
      ] as const) {
        const account = await aMember(group)
        const reply = await account.post(path, body())
        expect(reply.status, reply.text).to.equal(200)
        const paid = Math.ceil((points * due) / 10_000 - 1e-9)
        expect(FUNDS - (await account.balance()), `${group}`).to.equal(paid)
        expect(await gateway.record(reply)).to.include({ status: 'succeeded', credits: paid })
      }
    })

  it('see their own price in the list, in quotes and in the records of calls, as one version', async () => {
    const [account, other] = [await aMember('partner'), await aMember(null)]
    const [entry, whole] = [await entryOf(account, 'sandbox-chat'), await entryOf(other, 'sandbox-chat')]
    const dollars = { prompt: '0.0000008', completion: '0.0000024' }
    expect(entry.pricing).to.deep.include({ input: 0.8, output: 2.4, perTokens: 1000, minimum: 0.8, ...dollars })
    expect(whole.pricing).to.deep.include({ input: 1, output: 3, perTokens: 1000, minimum: 1 })
    expect(entry.priceVersion).not.to.equal(whole.priceVersion)
    const { ok: _ok, ...listed } = entry
    expect((await account.get('/v1/models')).json.data).to.deep.include(listed)
    const image = await entryOf(account, 'sandbox-image')
    expect([image.credits, image.pricing.image]).to.deep.equal([32, '0.032'])

    const body = imageBody(prompted())
    const quoted = async (by: Caller) => (await by.post('/v1/quotes', { endpoint: IMAGES, body })).json
    const { priceVersion } = image
    expect(await quoted(account)).to.include({
      credits: 32,
      minimum: 32,
      maximum: 32,
      priceBasisPoints: 8000,
      priceVersion,
    })
    expect(await quoted(other)).not.to.have.property('priceBasisPoints')
    const guards = { 'X-Price-Version': priceVersion, 'X-Max-Credits': '32' }
    const guarded = await account.post(IMAGES, body, guards)
    expect(guarded.status, guarded.text).to.equal(200)
    expect(await gateway.record(guarded)).to.deep.include({ price: { credits: 32 }, priceVersion })
    const others = await other.post(IMAGES, body, { 'X-Price-Version': priceVersion })
    expect([others.status, others.json.error.type]).to.deep.equal([422, 'price_changed'])
  })

  it('know no model that their group may not see, in any list and by any endpoint', async () => {
    const account = await aMember('dear')
    const seen = ['sandbox-chat', 'sandbox-image', 'odd-chat']
    expect((await account.get('/v1/models')).json.data.map(({ id }: { id: string }) => id)).to.deep.equal(seen)
    expect(await entryOf(account, 'dear-chat')).to.deep.equal(await entryOf(account, 'no-such-chat'))
    const media = { prompt: 'x' }
    const chat = chatBody('x', { max_tokens: 5 })
    const bodies: [path: string, body: object, model: string][] = [
      [CHAT, chat, 'dear-chat'],
      [MESSAGES, chat, 'dear-chat'],
      [`${MESSAGES}/count_tokens`, chatBody('x'), 'dear-chat'],
      [RESPONSES, { input: 'x' }, 'dear-chat'],
      [IMAGES, media, 'sized-image'],
      [VIDEOS, media, 'sandbox-video'],
      [EMBEDDINGS, { input: 'x' }, 'sandbox-embedding'],
      ['/v1/quotes', media, 'sized-image'],
    ]
    for (const [path, fields, model] of bodies) {
      const stranger = await aMember('dear')
      const ask = async (named: string) => {
        const body = { ...fields, model: named }
        const { status, json } = await stranger.post(path, path === '/v1/quotes' ? { endpoint: IMAGES, body } : body)
        const { request_id: _id, ...said } = json
        return { status, said }
      }
      const hidden = await ask(model)
      expect(hidden, path).to.deep.equal(await ask('no-such-model'))
      expect(hidden.status, path).to.be.oneOf([400, 404])
    }
    await regroup(account, null)
    expect((await account.get('/v1/models/dear-chat')).status).to.equal(200)
  })

  it("have their group's limits: requests a minute, and open calls", async () => {
    const account = await aMember('dear')
    const replies: Reply[] = []
    for (let nth = 0; nth < 5; nth++) replies.push(await account.chat(prompted(), { max_tokens: 1 }))
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429])
    expect(replies[0]!.headers.get('x-ratelimit-limit-requests')).to.equal('4')
    expect(replies[3]!.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    await regroup(account, 'partner')
    const later = await account.chat(prompted(), { max_tokens: 1 })
    expect([later.status, later.headers.get('x-ratelimit-limit-requests')]).to.deep.equal([200, '1000'])

    const busy = await aMember('dear')
    const slow = (): Promise<Reply> => busy.image(prompted('[hang]'), {}, { prefer: 'respond-async' })
    const opened = [await slow(), await slow(), await slow()]
    expect(opened.map(({ status }) => status)).to.deep.equal([202, 202, 429])
    await gateway.db('accounts').where({ id: busy.id }).update({ group_name: 'partner' })
    expect((await slow()).status).to.equal(202)
    const ids = opened.slice(0, 2).map(callOf)
    await gateway.db('calls').whereIn('id', ids).update({ deadline_at: gateway.db.fn.now() })
  })

  it('are asked anew where their group changes while the charge waits: at its price, or for no model', async () => {
    for (const [group, model, status, credits] of [
      ['partner', 'sandbox-image', 200, 32],
      ['dear', 'sized-image', 400, 0],
    ] as const) {
      const account = await aMember(null)
      const { asked } = await gateway.db.transaction(async (trx) => {
        await trx('accounts').where({ id: account.id }).forUpdate().select('id')
        const waiting = account.image(prompted(), { model })
        await untilItWaits(gateway.db, '%open_calls%')
        await trx('accounts').where({ id: account.id }).update({ group_name: group })
        return { asked: waiting }
      })
      const reply = await asked
      expect(reply.status, reply.text).to.equal(status)
      expect(await account.balance()).to.equal(FUNDS - credits)
    }
  })

  // How many requests a minute a key may have: test/admin/keys.test.ts.
  it('see the models and prices of their group in the console, and are warned of others', async () => {
    const { id, userId } = await aMember('dear')
    const session = { userId, accountId: id, passwordHash: 'none', userAgent: 'test', ip: '' }
    const { token } = (await openSession(gateway.db, session))!
    const body = { name: 'k', models: ['dear-chat', 'sandbox-chat'] }
    const made = await send('POST', `${gateway.url}/api/keys`, { key: token, body })
    expect([made.status, made.json.warnings]).to.deep.equal([200, ['There is no model "dear-chat" at the moment.']])
    const { data } = (await get(`${gateway.url}/api/models`, token)).json
    expect(data).to.have.lengthOf(3)
    const { pricing } = data.find((one: { id: string }) => one.id === 'sandbox-chat')
    expect(pricing).to.deep.equal({ input: 1.2345, output: 3.7035, perTokens: 1000, minimum: 1.2345 })
  })
})
