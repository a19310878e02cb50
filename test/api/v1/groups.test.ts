import { expect } from 'chai'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { setAccountGroup } from '../../../src/shared/operators/changes.ts'
import { chatCost, mediaCost } from '../../../src/shared/terms/pricing.ts'
import { priceOfShown } from '../../../src/shared/terms/shown-price.ts'
import type { ChatPrice, MediaPrice } from '../../../src/shared/terms/pricing.ts'
import { CHAT, EMBEDDINGS, IMAGES, VIDEOS, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { get, post, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
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

/** A call of each kind for which an upstream reports what is asked for, and what is exactly due for it. */
const chatWith = (words: string): string => `${prompted()} [usage 10 5] ${words}`
const PAID: [title: string, path: string, body: () => object, due: number][] = [
  ['a chat', CHAT, () => ({ model: 'odd-chat', messages: [{ role: 'user', content: chatWith('') }] }), 2.5],
  [
    'a streamed chat',
    CHAT,
    () => ({ model: 'odd-chat', stream: true, messages: [{ role: 'user', content: chatWith('') }] }),
    2.5,
  ],
  [
    'a message',
    MESSAGES,
    () => ({ model: 'odd-chat', max_tokens: 1000, messages: [{ role: 'user', content: chatWith('') }] }),
    2.5,
  ],
  ['a response', RESPONSES, () => ({ model: 'odd-chat', max_output_tokens: 1000, input: chatWith('') }), 2.5],
  ['an image', IMAGES, () => ({ model: 'sandbox-image', prompt: prompted() }), 40],
  ['a video', VIDEOS, () => ({ model: 'ranged-video', prompt: prompted(), duration: 2.5 }), 77.5],
  [
    'embeddings',
    EMBEDDINGS,
    () => ({ model: 'sandbox-embedding', input: [Array.from({ length: 1004 }, (_, at) => at)] }),
    100.4,
  ],
]

describe('groups of customers', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: '1000' }, (catalogue) => {
    Object.assign(catalogue, { groups: GROUPS, creditMicroUsd: 1000 })
    const chat = catalogue.models.find(({ id }) => id === 'sandbox-chat')!
    catalogue.models.push({ ...chat, id: 'odd-chat', pricing: { input: 1, output: 3, perTokens: 10, minimum: 1 } })
    const video = catalogue.models.find(({ id }) => id === 'ranged-video')!
    delete video['credits']
    Object.assign(video, { prices: [{ perSecond: 31 }] })
  })

  const aMember = async (group: keyof typeof GROUPS | null): Promise<Caller> => {
    const account = await gateway.account(FUNDS)
    if (group !== null) await regroup(account, group)
    return account
  }
  const regroup = async ({ id }: Caller, group: string | null): Promise<void> => {
    expect(await setAccountGroup(gateway.db, null, id, group)).to.equal('done')
  }
  const ask = ({ key }: Caller, path: string, body: object, headers: Record<string, string> = {}) =>
    post(`${gateway.url}${path}`, key, body, { 'anthropic-version': '2023-06-01', ...headers })
  const read = ({ key }: Caller, path: string) => get(`${gateway.url}${path}`, key)
  const entryOf = async (account: Caller, model: string) =>
    (await read(account, '/v1/models')).json.data.find(({ id }: { id: string }) => id === model)

  for (const [title, path, body, due] of PAID) {
    it(`pay their share of the exact price, rounded up once: ${title}`, async () => {
      for (const [group, points] of [
        [null, 10_000],
        ['partner', 8000],
      ] as const) {
        const account = await aMember(group)
        const reply = await ask(account, path, body())
        expect(reply.status, reply.text).to.equal(200)
        const paid = Math.ceil((points * due) / 10_000 - 1e-9)
        expect(FUNDS - (await account.balance()), `${group}`).to.equal(paid)
        expect(await gateway.record(reply)).to.include({ status: 'succeeded', credits: paid })
      }
    })
  }

  it('see their own price in the list, in quotes and in the records of calls, as one version', async () => {
    const [account, other] = [await aMember('partner'), await aMember(null)]
    const [entry, whole] = [await entryOf(account, 'sandbox-chat'), await entryOf(other, 'sandbox-chat')]
    expect(entry.pricing).to.deep.include({ input: 0.8, output: 2.4, perTokens: 1000, minimum: 0.8 })
    expect(whole.pricing).to.deep.include({ input: 1, output: 3, perTokens: 1000, minimum: 1 })
    expect([entry.pricing.prompt, entry.pricing.completion]).to.deep.equal(['0.0000008', '0.0000024'])
    expect(entry.priceVersion).not.to.equal(whole.priceVersion)
    expect(await entryOf(account, 'sandbox-image')).to.include({ credits: 32 })
    expect((await entryOf(account, 'sandbox-image')).pricing.image).to.equal('0.032')
    expect(await entryOf(account, 'ranged-video')).to.deep.include({ credits: 50, prices: [{ perSecond: 24.8 }] })
    const one = (await read(account, '/v1/models/sandbox-chat')).json
    expect(one).to.deep.equal({ ok: true, ...entry })

    const body = { model: 'sandbox-image', prompt: prompted() }
    const image = await entryOf(account, 'sandbox-image')
    const quote = await ask(account, '/v1/quotes', { endpoint: IMAGES, body })
    expect(quote.json).to.include({ credits: 32, minimum: 32, maximum: 32, priceBasisPoints: 8000 })
    expect(quote.json.priceVersion).to.equal(image.priceVersion)
    expect((await ask(other, '/v1/quotes', { endpoint: IMAGES, body })).json).not.to.have.property('priceBasisPoints')

    const guarded = await ask(account, IMAGES, body, { 'X-Price-Version': image.priceVersion, 'X-Max-Credits': '32' })
    expect(guarded.status, guarded.text).to.equal(200)
    const record = await gateway.record(guarded)
    expect(record.price).to.deep.equal({ credits: 32 })
    expect(record.priceVersion).to.equal(image.priceVersion)
    const others = await ask(other, IMAGES, body, { 'X-Price-Version': image.priceVersion })
    expect([others.status, others.json.error.type]).to.deep.equal([422, 'price_changed'])
  })

  it('know no model that their group may not see, in any list and by any endpoint', async () => {
    const account = await aMember('dear')
    const seen = ['sandbox-chat', 'sandbox-image', 'odd-chat']
    expect((await read(account, '/v1/models')).json.data.map(({ id }: { id: string }) => id)).to.deep.equal(seen)
    const hidden = await read(account, '/v1/models/dear-chat')
    const missing = await read(account, '/v1/models/no-such-chat')
    expect([hidden.status, hidden.json]).to.deep.equal([missing.status, missing.json])

    const bodies: [path: string, body: (model: string) => object, model: string][] = [
      [CHAT, (model) => ({ model, messages: [{ role: 'user', content: 'x' }] }), 'dear-chat'],
      [MESSAGES, (model) => ({ model, max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }), 'dear-chat'],
      [`${MESSAGES}/count_tokens`, (model) => ({ model, messages: [{ role: 'user', content: 'x' }] }), 'dear-chat'],
      [RESPONSES, (model) => ({ model, input: 'x' }), 'dear-chat'],
      [IMAGES, (model) => ({ model, prompt: 'x' }), 'sized-image'],
      [VIDEOS, (model) => ({ model, prompt: 'x' }), 'sandbox-video'],
      [EMBEDDINGS, (model) => ({ model, input: 'x' }), 'sandbox-embedding'],
      ['/v1/quotes', (model) => ({ endpoint: IMAGES, body: { model, prompt: 'x' } }), 'sized-image'],
    ]
    for (const [path, body, model] of bodies) {
      const stranger = await aMember('dear')
      const replies = [await ask(stranger, path, body(model)), await ask(stranger, path, body('no-such-model'))]
      const said = replies.map(({ status, json: { request_id: _id, ...json } }) => ({ status, json }))
      expect(said[0], path).to.deep.equal(said[1])
      expect(said[0]!.status, path).to.be.oneOf([400, 404])
    }
    await regroup(account, null)
    expect((await read(account, '/v1/models/dear-chat')).status).to.equal(200)
  })

  it("have their group's limits: requests a minute, and open calls", async () => {
    const account = await aMember('dear')
    const chats = { model: 'sandbox-chat', messages: [{ role: 'user', content: prompted() }], max_tokens: 1 }
    const replies: Reply[] = []
    for (let nth = 0; nth < 5; nth++) replies.push(await ask(account, CHAT, chats))
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 429])
    expect(replies[0]!.headers.get('x-ratelimit-limit-requests')).to.equal('4')
    expect(replies[3]!.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    await regroup(account, 'partner')
    const later = await ask(account, CHAT, chats)
    expect([later.status, later.headers.get('x-ratelimit-limit-requests')]).to.deep.equal([200, '1000'])

    const busy = await aMember('dear')
    const slow = (): Promise<Reply> =>
      ask(busy, IMAGES, { model: 'sandbox-image', prompt: prompted('[hang]') }, { prefer: 'respond-async' })
    const opened = [await slow(), await slow(), await slow()]
    expect(opened.map(({ status }) => status)).to.deep.equal([202, 202, 429])
    await gateway.db('accounts').where({ id: busy.id }).update({ group_name: 'partner' })
    expect((await slow()).status).to.equal(202)
    const ids = opened.slice(0, 2).map(callOf)
    await gateway.db('calls').whereIn('id', ids).update({ deadline_at: gateway.db.fn.now() })
  })

  it('pay by each call exactly the version that it names, while their group changes under load', async () => {
    const account = await aMember(null)
    const groups = ['partner', 'staff', null]
    const versions = new Map<string, string>()
    for (const group of groups) {
      const { priceVersion } = await entryOf(await aMember(group as keyof typeof GROUPS), 'sandbox-image')
      versions.set(priceVersion, String(group))
    }
    const kinds = PAID.filter(([, path]) => path === CHAT || path === IMAGES)
    const replies: Reply[] = []
    for (let wave = 0; wave < 6; wave++) {
      const send = (calls: number) =>
        Array.from({ length: calls }, (_, nth) => {
          const [, path, body] = kinds[nth % kinds.length]!
          return ask(account, path, body())
        })
      const before = send(4)
      await regroup(account, groups[wave % 3]!)
      replies.push(...(await Promise.all([...before, ...send(2)])))
    }
    const met = new Set<string>()
    for (const reply of replies) {
      expect(reply.status, reply.text).to.equal(200)
      const record = await gateway.record(reply)
      const row = gateway.db('calls').where({ id: callOf(reply) })
      const { group_name: group } = await row.first<{ group_name: string | null }>('group_name')
      met.add(String(group))
      const price = record.price!
      const due =
        'perTokens' in price
          ? chatCost(priceOfShown(price as ChatPrice), { input: record.inputTokens!, output: record.outputTokens! })
          : mediaCost(priceOfShown(price as MediaPrice), {})
      expect(record.credits, JSON.stringify(price)).to.equal(due)
      if (record.modality === 'image') expect(versions.get(record.priceVersion!)).to.equal(String(group))
    }
    expect(met.size, `all calls are of ${[...met].join()}`).to.equal(3)
  })

  it('are asked anew where their group changes while the charge waits: at its price, or for no model', async () => {
    for (const [group, model, status, credits] of [
      ['partner', 'sandbox-image', 200, 32],
      ['dear', 'sized-image', 400, 0],
    ] as const) {
      const account = await aMember(null)
      const reply = await gateway.db.transaction(async (trx) => {
        await trx('accounts').where({ id: account.id }).forUpdate().select('id')
        const asked = ask(account, IMAGES, { model, prompt: prompted() })
        await untilItWaits(gateway.db, '%open_calls%')
        await trx('accounts').where({ id: account.id }).update({ group_name: group })
        return { asked }
      })
      const { status: is, text } = await reply.asked
      expect(is, text).to.equal(status)
      expect(await account.balance()).to.equal(FUNDS - credits)
    }
  })

  it('let no key have more requests a minute than its account, and warn of models that are hidden', async () => {
    const account = await aMember('dear')
    await gateway.db('users').where({ id: account.userId }).update({ role: 'admin' })
    const { token } = await signedIn(account)
    const make = (body: object): Promise<Reply> =>
      send('POST', `${gateway.url}/api/keys`, { key: token, body: { name: 'k', ...body } })
    const refused = await make({ rateLimit: 5 })
    expect([refused.status, refused.json.message]).to.deep.equal([
      400,
      'rateLimit must be at most that of the account, 4.',
    ])
    const made = await make({ rateLimit: 4, models: ['dear-chat', 'sandbox-chat'] })
    expect([made.status, made.json.warnings]).to.deep.equal([200, ['There is no model "dear-chat" at the moment.']])
    const edited = await send('PATCH', `${gateway.url}/api/operator/keys/${made.json.key.id}`, {
      key: token,
      body: { rateLimit: 5 },
    })
    expect(edited.status).to.equal(400)
    const shown = await get(`${gateway.url}/api/models`, token)
    const chat = shown.json.data.find(({ id }: { id: string }) => id === 'sandbox-chat')
    expect(shown.json.data).to.have.lengthOf(3)
    expect(chat.pricing).to.deep.equal({ input: 1.2345, output: 3.7035, perTokens: 1000, minimum: 1.2345 })
  })

  /** A session of an account that has no password. */
  async function signedIn({ id, userId }: Caller): Promise<{ token: string }> {
    const device = { userAgent: 'test', ip: '' }
    const session = await openSession(gateway.db, { userId, accountId: id, passwordHash: 'none', ...device })
    return { token: session!.token }
  }
})
