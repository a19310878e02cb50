import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { IMAGES, VIDEOS, countsOf, movementsOf, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { pricedModels } from './support/priced-models.ts'

describe('the price of an image or a video', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, (catalogue) => catalogue.models.push(...pricedModels()))
    account = await anAccount(gateway.db, 100_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  /** The body of the request that the sandbox got for this prompt. */
  function sentOf(prompt: string): object {
    const body = gateway.sandbox.journal(prompt).find(({ method }) => method === 'POST')!.body as { fields?: object }
    // Videos are sent as a form.
    return body.fields ?? body
  }

  const PRICED: [path: string, fields: Record<string, unknown>, charge: number, sent: Record<string, string>][] = [
    [VIDEOS, { model: 'priced-video' }, 100, { seconds: '4', size: '1280x720' }],
    [VIDEOS, { model: 'priced-video', duration: 10, resolution: '1080p' }, 400, { seconds: '10', size: '1920x1080' }],
    [VIDEOS, { model: 'priced-video', duration: 1.1, resolution: '1080p' }, 44, { seconds: '1.1', size: '1920x1080' }],
    [VIDEOS, { model: 'listed-video' }, 88, { seconds: '8' }],
    [VIDEOS, { model: 'listed-video', duration: 4, resolution: '720p' }, 90, { seconds: '4', size: '1280x720' }],
    [IMAGES, { model: 'priced-image' }, 25, { size: '1024x1024' }],
    [IMAGES, { model: 'priced-image', resolution: '4K' }, 90, { size: '3840x2160' }],
  ]
  for (const [path, fields, charge, sent] of PRICED) {
    it(`is that of what is sent: ${JSON.stringify(fields)} costs ${charge}`, async () => {
      const prompt = prompted()
      const reply = await post(`${gateway.url}${path}`, account.key, { ...fields, prompt })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.usage).to.include({ credits: charge })
      expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${charge}`])
      const record = await recordOf(gateway.db, reply)
      expect(record).to.include({ credits: charge, creditsPrecharged: charge })
      expect(record.price).to.deep.equal({ prices: pricedModels().find(({ id }) => id === fields.model)!.prices })
      expect(sentOf(prompt)).to.include(sent)
    })
  }

  it('is refused where there is none: never free', async () => {
    const before = await countsOf(gateway.db, account)
    for (const fields of [
      { model: 'priced-video', resolution: '480p' },
      { model: 'priced-video', resolution: '480p', duration: 2 },
    ]) {
      const { status, json } = await post(`${gateway.url}${VIDEOS}`, account.key, { ...fields, prompt: 'a fox' })
      expect([status, json.error.type, json.error.param]).to.deep.equal([400, 'invalid_request', 'resolution'])
    }
    expect(await countsOf(gateway.db, account)).to.include({ charged: before.charged, entries: before.entries })
  })

  it('is refunded whole where the call fails', async () => {
    const body = { model: 'priced-video', prompt: prompted('[fail]'), duration: 3 }
    const reply = await post(`${gateway.url}${VIDEOS}`, account.key, body)
    expect(reply.status).to.equal(502)
    expect(await movementsOf(gateway.db, reply)).to.deep.equal(['charge -75', 'refund 75'])
  })

  it('is listed: the least of it, its rows, durations and resolutions', async () => {
    const { data } = (await get(`${gateway.url}/v1/models`, account.key)).json
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
