import { expect } from 'chai'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { get, post } from '../../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, chatBody, prompted } from '../../../../scripts/harness/calling.ts'
import { pricedModels } from '../support/priced-models.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'
import type { Caller } from '../../../support/caller.ts'

type Headers = Record<string, string>

const ASYNC = { prefer: 'respond-async' }

describe('X-Max-Credits and X-Price-Version', () => {
  const gateway = useGateway({}, (catalogue) => catalogue.models.push(...pricedModels()))

  const send = ({ key }: Pick<Caller, 'key'>, path: string, body: object, headers: Headers): Promise<Reply> =>
    post(`${gateway.url}${path}`, key, body, headers)
  const outcomeOf = ({ status, json }: Reply) => [status, json.error?.type, json.error?.param]
  const versionOf = async ({ key }: Caller, model: string): Promise<string> => {
    const { data } = (await get(`${gateway.url}/v1/models`, key)).json
    return data.find(({ id }: { id: string }) => id === model).priceVersion
  }

  /** Every form in which a call can be asked for, and what it is charged. */
  const FORMS: [title: string, path: string, body: () => object, headers: Headers, charge: number][] = [
    ['an image', IMAGES, () => ({ model: 'priced-image', prompt: prompted() }), {}, 25],
    ['a video', VIDEOS, () => ({ model: 'priced-video', prompt: prompted(), duration: 2.5 }), {}, 63],
    [
      'an image as events',
      IMAGES,
      () => ({ model: 'priced-image', prompt: prompted() }),
      { accept: 'text/event-stream' },
      25,
    ],
    ['a call that nobody waits for', IMAGES, () => ({ model: 'priced-image', prompt: prompted() }), ASYNC, 25],
  ]
  for (const [title, path, body, form, charge] of FORMS) {
    it(`refuse a charge above the limit, and let one at the limit pass: ${title}`, async () => {
      const account = await gateway.account(1000)
      const above = await send(account, path, body(), { ...form, 'X-Max-Credits': String(charge - 1) })
      expect(outcomeOf(above)).to.deep.equal([422, 'price_above_limit', 'X-Max-Credits'])
      expect(above.json.error.message).to.contain(`${charge} credits`)
      expect(above.headers.get('x-should-retry')).to.equal('false')
      expect(await gateway.record(above)).to.include({ status: 'rejected', credits: 0, price: null })
      const { charged } = await account.counts()
      expect([charged, await account.balance()]).to.deep.equal([0, 1000])
      const within = await send(account, path, body(), { ...form, 'X-Max-Credits': String(charge) })
      expect(within.status, within.text).to.be.oneOf([200, 202])
      expect(await gateway.record(within)).to.include({ creditsPrecharged: charge })
    })
  }

  for (const stream of [false, true]) {
    it(`hold for a chat by its pre-charge, ${stream ? 'streamed' : 'whole'}`, async () => {
      const account = await gateway.account(1000)
      const body = chatBody(prompted(), { model: 'priced-chat', stream })
      const priceVersion = await versionOf(account, 'priced-chat')
      const asked = { 'X-Max-Credits': '1000', 'X-Price-Version': priceVersion }
      const passed = await send(account, CHAT, body, asked)
      expect(passed.status, passed.text).to.equal(200)
      const { creditsPrecharged, ...record } = await gateway.record(passed)
      expect(record).to.include({ priceVersion })
      const limit = String(creditsPrecharged - 1)
      expect(outcomeOf(await send(account, CHAT, body, { 'X-Max-Credits': limit }))[1]).to.equal('price_above_limit')
      const other = await versionOf(account, 'sandbox-chat')
      for (const version of [other, 'price_0', '', 'nothing']) {
        const changed = await send(account, CHAT, body, { 'X-Price-Version': version })
        expect(outcomeOf(changed), version).to.deep.equal([422, 'price_changed', 'X-Price-Version'])
        expect(changed.json.error.message).to.contain(priceVersion)
      }
    })
  }

  it('name what is no number of credits', async () => {
    const account = await gateway.account(1000)
    for (const bad of ['', '-1', '1.5', '1e3', 'all', '0x10', '9'.repeat(16), '10, 20', ' ']) {
      const reply = await send(account, IMAGES, { model: 'priced-image', prompt: 'x' }, { 'X-Max-Credits': bad })
      expect(outcomeOf(reply), bad).to.deep.equal([400, 'invalid_request', 'X-Max-Credits'])
    }
    expect(await account.balance()).to.equal(1000)
  })

  it('come behind the fields and the upstream, and before the balance', async () => {
    const poor = await gateway.account(1)
    const guards = { 'X-Max-Credits': '3', 'X-Price-Version': 'another' }
    const of = async (model: string, more: object = {}) =>
      outcomeOf(await send(poor, IMAGES, { model, prompt: 'x', ...more }, guards))[1]
    expect(await of('priced-image', { resolution: '3K' })).to.equal('invalid_request')
    expect(await of('unavailable-image')).to.equal('upstream_unavailable')
    expect(await of('priced-image')).to.equal('price_above_limit')
    const bare = await send(poor, IMAGES, { model: 'priced-image', prompt: 'x' }, { 'X-Max-Credits': '25' })
    expect(outcomeOf(bare)[1]).to.equal('insufficient_credits')
  })

  it('leave an idempotency key free, and a retry of what was paid its answer', async () => {
    const account = await gateway.account(1000)
    const body = { model: 'priced-image', prompt: prompted() }
    const key = { 'Idempotency-Key': prompted() }
    for (let retry = 0; retry < 2; retry++) {
      const refused = await send(account, IMAGES, body, { ...key, 'X-Max-Credits': '24' })
      expect(outcomeOf(refused)[1]).to.equal('price_above_limit')
    }
    const paid = await send(account, IMAGES, body, { ...key, 'X-Max-Credits': '25' })
    expect(paid.status, paid.text).to.equal(200)
    // Its charge was made: no guard can be against it any more, and to hide the answer would only lose it.
    const again = await send(account, IMAGES, body, { ...key, 'X-Max-Credits': '24', 'X-Price-Version': 'another' })
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
    expect(again.json.data).to.deep.equal(paid.json.data)
    expect(await account.balance()).to.equal(975)
  })
})

describe('the price of an image or a video', () => {
  const gateway = useGateway({}, (catalogue) => catalogue.models.push(...pricedModels()))
  const account = useAccount(gateway, 10_000)

  /** The body of the request that the sandbox got for this prompt. */
  function sentOf(prompt: string): object {
    const body = gateway.sandbox.journal(prompt).find(({ method }) => method === 'POST')!.body as { fields?: object }
    // Videos are sent as a form.
    return body.fields ?? body
  }

  // Every shape of a price: test/api/v1/media-fields.test.ts.
  const PRICED: [path: string, fields: Record<string, unknown>, charge: number, sent: Record<string, string>][] = [
    [VIDEOS, { model: 'priced-video', duration: 1.1, resolution: '1080p' }, 44, { seconds: '1.1', size: '1920x1080' }],
    [IMAGES, { model: 'priced-image' }, 25, { size: '1024x1024' }],
  ]
  for (const [path, fields, charge, sent] of PRICED) {
    it(`is that of what is sent: ${JSON.stringify(fields)} costs ${charge}`, async () => {
      const prompt = prompted()
      const reply = await account.post(path, { ...fields, prompt })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.usage).to.include({ credits: charge })
      expect(await gateway.movements(reply)).to.deep.equal([`charge -${charge}`])
      const record = await gateway.record(reply)
      expect(record).to.include({ credits: charge, creditsPrecharged: charge })
      expect(record.price).to.deep.equal({ prices: pricedModels().find(({ id }) => id === fields.model)!.prices })
      expect(sentOf(prompt)).to.include(sent)
    })
  }

  it('is listed: the least of it, its rows, durations and resolutions', async () => {
    const { data } = (await account.get('/v1/models')).json
    const listed = (id: string) => data.find((one: { id: string }) => one.id === id)
    expect(listed('priced-video')).to.deep.include({
      credits: 25,
      prices: [
        { resolution: '1080p', perSecond: 40 },
        { resolution: '720p', perSecond: 25 },
      ],
      durations: { min: 1, max: 10, default: 4, step: 0.1 },
      resolutions: ['720p', '1080p', '480p'],
    })
    expect(listed('listed-video')).to.include({ credits: 44 })
    expect(listed('priced-image')).to.include({ credits: 25 })
    expect(listed('priced-chat')).to.deep.include({
      credits: 7,
      pricing: { input: 10, cachedInput: 1, cacheWrite: 13, output: 30, perCall: 7, perTokens: 1000, minimum: 2 },
    })
  })
})
