import { expect } from 'chai'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount, balanceOf } from '../../support/factories.ts'
import type { Gateway } from '../../support/harness.ts'
import { startGateway } from '../../support/harness.ts'
import { get, post } from '../../support/http.ts'
import { movementsOf, prompted, recordOf } from './calling.ts'

const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('POST /v1/images/generations and /v1/videos/generations', () => {
  let gateway: Gateway
  before(async () => { gateway = await startGateway() })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  const local = (address: string): string => new URL(new URL(address).pathname, gateway.url).href

  for (const [path, modality, model, cost, type] of [
    ['images', 'image', 'sandbox-image', 40, 'image/png'],
    ['videos', 'video', 'sandbox-video', 250, 'video/mp4'],
  ] as const) {
    it(`answers ${path} in the specified form, with an address that serves the result`, async () => {
      const account = await anAccount(gateway.db, 1000)
      const prompt = prompted('a lighthouse')
      const reply = await post(`${gateway.url}/v1/${path}/generations`, account.key, { model, prompt })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json).to.have.all.keys('ok', 'created', 'data', 'usage')
      expect(reply.json.ok).to.equal(true)
      expect(reply.json.created).to.be.closeTo(Date.now() / 1000, 5)
      expect(reply.json.usage).to.have.all.keys('credits', 'balance', 'latencyMs')
      expect(reply.json.usage).to.include({ credits: cost, balance: 1000 - cost })
      expect(reply.json.usage.latencyMs).to.be.a('number').that.satisfies(Number.isInteger)
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - cost)
      expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${cost}`])
      expect(await recordOf(gateway.db, reply)).to.include({
        status: 'succeeded', modality, model, credits: cost, creditsPrecharged: cost, upstream: 'sandbox', attempts: 1,
        latencyMs: reply.json.usage.latencyMs, resultUrl: reply.json.data[0].url, inputTokens: null,
      })
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
      const media = await get(local(reply.json.data[0].url))
      expect(media.status).to.equal(200)
      expect(media.headers.get('content-type')).to.equal(type)
    })
  }

  it('edits a picture that came with the request', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    const reply = await post(`${gateway.url}/v1/images/generations`, account.key, { model: 'sandbox-image', prompt, image_url: PIXEL })
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.journal(prompt)[0]!.path).to.equal('/v1/images/edits')
  })

  it('hands resolution and duration on', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    await post(`${gateway.url}/v1/videos/generations`, account.key, { model: 'sandbox-video', prompt, duration: 4, resolution: '1280x720' })
    expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)).to.include('"seconds":"4"').and.to.include('1280x720')
  })

  it('charges exactly 50 of 200 parallel calls on funds for 50, and refuses 150 before any upstream', async function () {
    this.timeout(30_000)
    const account = await anAccount(gateway.db, [{ amount: 700, days: 1 }, { amount: 610, days: 2 }, { amount: 690 }])
    const prompt = prompted()
    const replies = await Promise.all(Array.from({ length: 200 }, () =>
      post(`${gateway.url}/v1/images/generations`, account.key, { model: 'sandbox-image', prompt, resolution: '16x16' })))
    const counts = new Map<number, number>()
    for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1)
    expect(Object.fromEntries(counts)).to.deep.equal({ 200: 50, 402: 150 })
    expect(await balanceOf(gateway.db, account.id)).to.equal(0)
    expect(gateway.sandbox.billed(prompt).total).to.equal(50)
    const balances = replies.filter(({ status }) => status === 200).map(({ json }) => json.usage.balance as number)
    expect(balances.every((balance) => balance >= 0 && balance % 40 === 0)).to.equal(true)
  })
})
