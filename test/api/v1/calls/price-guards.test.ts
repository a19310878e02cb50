import { expect } from 'chai'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, chatBody, prompted } from '../../../../scripts/harness/calling.ts'
import { pricedModels } from '../support/priced-models.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'

const ASYNC = { prefer: 'respond-async' }

const outcomeOf = ({ status, json }: Reply) => [status, json.error?.type, json.error?.param]
const IMAGE = { model: 'priced-image' }
const VIDEO = { model: 'priced-video', duration: 1.1, resolution: '1080p' }

// Every shape of a price: media-fields.test.ts. When they are checked: order.test.ts.
describe('X-Max-Credits and X-Price-Version', () => {
  const gateway = useGateway({}, (catalogue) => catalogue.models.push(...pricedModels()))
  const account = useAccount(gateway, 1000)

  const image = (headers: Record<string, string>, more: object = {}): Promise<Reply> =>
    account.post(IMAGES, { ...IMAGE, prompt: 'x', ...more }, headers)
  const versionOf = async (model: string): Promise<string> =>
    (await account.get(`/v1/models/${model}`)).json.priceVersion

  /** Every form in which a call can be asked for, what it is charged, and what its upstream is sent for that. */
  const FORMS: [title: string, path: string, fields: object, charge: number, sent: object, form?: object][] = [
    ['an image', IMAGES, IMAGE, 25, { size: '1024x1024' }],
    ['a video', VIDEOS, VIDEO, 44, { seconds: '1.1', size: '1920x1080' }],
    ['an image as events', IMAGES, IMAGE, 25, {}, { accept: 'text/event-stream' }],
    ['a call that nobody waits for', IMAGES, IMAGE, 25, {}, ASYNC],
  ]
  for (const [title, path, fields, charge, sent, form] of FORMS)
    it(`refuse a charge above the limit, and let one at the limit pass: ${title}`, async () => {
      const prompt = prompted()
      const under = (most: number) => account.post(path, { ...fields, prompt }, { ...form, 'X-Max-Credits': `${most}` })
      const above = await under(charge - 1)
      expect(outcomeOf(above)).to.deep.equal([422, 'price_above_limit', 'X-Max-Credits'])
      expect(above.json.error.message).to.contain(`${charge} credits`)
      expect(above.headers.get('x-should-retry')).to.equal('false')
      expect(await gateway.record(above)).to.include({ status: 'rejected', credits: 0, price: null })
      expect([(await account.counts()).charged, await account.balance()]).to.deep.equal([0, 1000])
      const within = await under(charge)
      expect(within.status, within.text).to.be.oneOf([200, 202])
      const { creditsPrecharged, price } = await gateway.record(within)
      const { prices } = pricedModels().find(({ id }) => id === (fields as { model: string }).model)!
      expect([creditsPrecharged, price]).to.deep.equal([charge, { prices }])
      expect(await gateway.movements(within)).to.deep.equal([`charge -${charge}`])
      if (form) return
      expect(within.json.usage).to.include({ credits: charge })
      const { body } = gateway.sandbox.journal(prompt).find(({ method }) => method === 'POST')!
      // Videos are sent as a form.
      expect((body as { fields?: object }).fields ?? body).to.include(sent)
    })

  for (const stream of [false, true])
    it(`hold for a chat by its pre-charge, ${stream ? 'streamed' : 'whole'}`, async () => {
      const body = chatBody(prompted(), { model: 'priced-chat', stream })
      const priceVersion = await versionOf('priced-chat')
      const passed = await account.post(CHAT, body, { 'X-Max-Credits': '1000', 'X-Price-Version': priceVersion })
      expect(passed.status, passed.text).to.equal(200)
      const record = await gateway.record(passed)
      expect(record).to.include({ priceVersion })
      const above = await account.post(CHAT, body, { 'X-Max-Credits': String(record.creditsPrecharged - 1) })
      expect(outcomeOf(above)[1]).to.equal('price_above_limit')
      for (const version of [await versionOf('sandbox-chat'), 'price_0', '', 'nothing']) {
        const changed = await account.post(CHAT, body, { 'X-Price-Version': version })
        expect(outcomeOf(changed), version).to.deep.equal([422, 'price_changed', 'X-Price-Version'])
        expect(changed.json.error.message).to.contain(priceVersion)
      }
    })

  it('name what is no number of credits', async () => {
    for (const bad of ['', '-1', '1.5', '1e3', 'all', '0x10', '9'.repeat(16), '10, 20', ' '])
      expect(outcomeOf(await image({ 'X-Max-Credits': bad })), bad).to.deep.equal([
        400,
        'invalid_request',
        'X-Max-Credits',
      ])
    expect(await account.balance()).to.equal(1000)
  })

  it('leave an idempotency key free, and a retry of what was paid its answer', async () => {
    const key = { 'Idempotency-Key': prompted() }
    for (let retry = 0; retry < 2; retry++)
      expect(outcomeOf(await image({ ...key, 'X-Max-Credits': '24' }))[1]).to.equal('price_above_limit')
    const paid = await image({ ...key, 'X-Max-Credits': '25' })
    expect(paid.status, paid.text).to.equal(200)
    // Its charge was made: no guard can be against it any more, and to hide the answer would only lose it.
    const again = await image({ ...key, 'X-Max-Credits': '24', 'X-Price-Version': 'another' })
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
    expect(again.json.data).to.deep.equal(paid.json.data)
    expect(await account.balance()).to.equal(975)
  })
})
