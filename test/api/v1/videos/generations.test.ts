import { expect } from 'chai'
import { get } from '../../../../scripts/harness/http.ts'
import { prompted } from '../../../../scripts/harness/calling.ts'
import { useGateway } from '../../../support/gateway.ts'

describe('POST /v1/images/generations and /v1/videos/generations', () => {
  const gateway = useGateway()

  for (const [modality, credits, type] of [
    ['image', 40, 'image/png'],
    ['video', 250, 'video/mp4'],
  ] as const)
    it(`answers ${modality}s in the specified form, with an address that serves the result`, async () => {
      const account = await gateway.account(1000)
      const prompt = `${prompted()}  ünïcode 😀 e\u0301 \u202e\u200b\n "quoted" \\ </script>  `
      const asked = Math.floor(Date.now() / 1000)
      const model = `sandbox-${modality}`
      const reply = await account.post(`/v1/${modality}s/generations`, { model, prompt })
      expect(reply.status, reply.text).to.equal(200)
      const { ok, created, data, usage, ...more } = reply.json
      expect([ok, more]).to.deep.equal([true, {}])
      expect(created).to.be.within(asked, Date.now() / 1000)
      const { latencyMs } = usage
      expect(usage).to.deep.equal({ credits, balance: 1000 - credits, latencyMs })
      expect(latencyMs).to.satisfy(Number.isInteger)
      expect(await account.balance()).to.equal(1000 - credits)
      expect(await gateway.movements(reply)).to.deep.equal([`charge -${credits}`])
      const made = { modality, model, latencyMs, resultUrl: data[0].url, inputTokens: null }
      const paid = { status: 'succeeded', credits, creditsPrecharged: credits, upstream: 'sandbox', attempts: 1 }
      expect(await gateway.record(reply)).to.include({ ...made, ...paid })
      expect(gateway.sandbox.billed(prompt).total, 'to the last character').to.equal(1)
      const media = await get(new URL(new URL(data[0].url).pathname, gateway.url).href)
      expect([media.status, media.headers.get('content-type')]).to.deep.equal([200, type])
    })
})
