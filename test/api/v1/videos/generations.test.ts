import { expect } from 'chai'
import { get } from '../../../../scripts/harness/http.ts'
import { prompted } from '../../../../scripts/harness/calling.ts'
import { useGateway } from '../../../support/gateway.ts'

describe('POST /v1/images/generations and /v1/videos/generations', () => {
  const gateway = useGateway()

  const local = (address: string): string => new URL(new URL(address).pathname, gateway.url).href

  for (const [path, modality, model, cost, type] of [
    ['images', 'image', 'sandbox-image', 40, 'image/png'],
    ['videos', 'video', 'sandbox-video', 250, 'video/mp4'],
  ] as const) {
    it(`answers ${path} in the specified form, with an address that serves the result`, async () => {
      const account = await gateway.account(1000)
      const prompt = `${prompted()}  ünïcode 😀 e\u0301 \u202e\u200b\n "quoted" \\ </script>  `
      const asked = Math.floor(Date.now() / 1000)
      const reply = await account.post(`/v1/${path}/generations`, { model, prompt })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json).to.have.all.keys('ok', 'created', 'data', 'usage')
      expect(reply.json.ok).to.equal(true)
      expect(reply.json.created).to.be.within(asked, Date.now() / 1000)
      expect(reply.json.usage).to.have.all.keys('credits', 'balance', 'latencyMs')
      expect(reply.json.usage).to.include({ credits: cost, balance: 1000 - cost })
      expect(reply.json.usage.latencyMs).to.be.a('number').that.satisfies(Number.isInteger)
      expect(await account.balance()).to.equal(1000 - cost)
      expect(await gateway.movements(reply)).to.deep.equal([`charge -${cost}`])
      expect(await gateway.record(reply)).to.include({
        status: 'succeeded',
        modality,
        model,
        credits: cost,
        creditsPrecharged: cost,
        upstream: 'sandbox',
        attempts: 1,
        latencyMs: reply.json.usage.latencyMs,
        resultUrl: reply.json.data[0].url,
        inputTokens: null,
      })
      expect(gateway.sandbox.billed(prompt).total, 'to the last character').to.equal(1)
      const media = await get(local(reply.json.data[0].url))
      expect(media.status).to.equal(200)
      expect(media.headers.get('content-type')).to.equal(type)
    })
  }
})
