import { expect } from 'chai'
import { anAccount, balanceOf } from '../../support/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { Gateway } from '../../support/harness.ts'
import { startGateway } from '../../support/harness.ts'
import { get, post } from '../../support/http.ts'

describe('POST /v1/images/generations and /v1/videos/generations', () => {
  let gateway: Gateway
  before(async () => { gateway = await startGateway() })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  for (const [path, model, cost, type] of [
    ['images', 'sandbox-image', 40, 'image/png'],
    ['videos', 'sandbox-video', 250, 'video/mp4'],
  ] as const) {
    it(`answers ${path} in the specified form, with an address that serves the result`, async () => {
      const account = await anAccount(gateway.db, 1000)
      const reply = await post(`${gateway.url}/v1/${path}/generations`, account.key, { model, prompt: 'a lighthouse' })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.ok).to.equal(true)
      expect(reply.json.usage).to.include({ credits: cost, balance: 1000 - cost })
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - cost)
      const media = await get(new URL(new URL(reply.json.data[0].url).pathname, gateway.url).href)
      expect(media.status).to.equal(200)
      expect(media.headers.get('content-type')).to.equal(type)
    })
  }
})
