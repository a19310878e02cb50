import { expect } from 'chai'
import OpenAI from 'openai'
import { begin } from '../../../../scripts/harness/http.ts'
import { SPEECH, prompted } from '../../../../scripts/harness/calling.ts'
import { eventually } from '../../../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'

const FUNDS = 1_000_000

/** Three credits for two characters, and five at least. */
const priceOf = (text: string): number => Math.max(5, Math.ceil((Array.from(text).length * 3) / 2))

describe('POST /v1/audio/speech', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, FUNDS)

  const bodyOf = (input: string) => ({ model: 'sandbox-speech', voice: 'alloy', input })
  const speak = (input: string, headers: Record<string, string> = {}) => account.post(SPEECH, bodyOf(input), headers)
  const started = (input: string, options: { headers?: Record<string, string>; signal?: AbortSignal } = {}) =>
    begin(`${gateway.url}${SPEECH}`, account.key, bodyOf(input), options)

  /** The answer's bytes as far as they came, and whether it ended as a whole one. */
  async function listen(input: string, headers: Record<string, string> = {}) {
    const response = await started(input, { headers })
    let bytes = 0
    try {
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length
    } catch {
      return { response, bytes, isWhole: false }
    }
    return { response, bytes, isWhole: true }
  }

  const expectPaid = (response: Response, text: string): Promise<void> =>
    eventually(async () => {
      const credits = priceOf(text)
      const record = await gateway.record(response)
      expect(record).to.include({ modality: 'speech', status: 'succeeded', credits, creditsPrecharged: credits })
    })

  it('is charged by its characters, and sends sound with credits and balance in its headers', async () => {
    for (const text of [`${prompted()} äöü 👍`, '👍'.repeat(4096)]) {
      const before = await account.balance()
      const { response, bytes, isWhole } = await listen(text)
      expect([response.status, isWhole]).to.deep.equal([200, true])
      expect(response.headers.get('content-type')).to.equal('audio/mpeg')
      expect(bytes).to.equal(417 * Array.from(text).length)
      expect(response.headers.get('x-credits')).to.equal(String(priceOf(text)))
      expect(response.headers.get('x-balance')).to.equal(String(before - priceOf(text)))
      await expectPaid(response, text)
    }
  })

  it("serves OpenAI's own SDK, with a voice by its name or its id", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
    const asked = { model: 'sandbox-speech', input: 'Hello there', response_format: 'wav', speed: 1.5 }
    for (const voice of ['alloy', { id: 'voice_1' }]) {
      const answer = await client.audio.speech.create({ ...asked, voice } as OpenAI.Audio.SpeechCreateParams)
      const sound = Buffer.from(await answer.arrayBuffer())
      expect([sound.toString('latin1', 0, 4), sound.length]).to.deep.equal(['RIFF', 44 + 11 * 1440 * 2])
    }
  })

  it('ends as a broken transfer where it fails after its first byte, and is charged in full (E3.8)', async () => {
    const text = prompted('[chunks 4 50] [reset-after 2]')
    const { response, bytes, isWhole } = await listen(text)
    expect([response.status, isWhole]).to.deep.equal([200, false])
    expect(bytes).to.be.above(0)
    await expectPaid(response, text)
  })

  it('is an error in JSON, refunded, where it fails before its first byte', async () => {
    for (const words of ['[status 500]', '[reset]', '[empty]', '[garbage]', '[reset-after 0]']) {
      const reply = await speak(prompted(words))
      expect([reply.status, reply.json?.error.type], words).to.deep.equal([502, 'upstream_failed'])
      expect(await gateway.movements(reply)).to.have.length(2)
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('is not stored: who comes back for it or joins it gets 410, and is not charged again', async () => {
    const headers = { 'idempotency-key': prompted() }
    const text = prompted('[chunks 4 300]')
    const both = (await Promise.all([listen(text, headers), listen(text, headers)])).map(({ response }) => response)
    expect(both.map(({ status }) => status)).to.have.members([200, 410])
    const again = await speak(text, headers)
    expect([again.status, again.json.error.type]).to.deep.equal([410, 'result_expired'])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    const id = both[0]!.headers.get('x-call-id')
    expect(again.headers.get('x-call-id')).to.equal(id)
    expect((await account.get(`/v1/calls/${id}`)).status).to.equal(410)
    expect(await account.balance()).to.equal(FUNDS - priceOf(text))
  })

  it('sends sound as it comes, goes on for a client that leaves, and is charged in full', async () => {
    const text = prompted('[chunks 4 100]')
    const leaving = new AbortController()
    const response = await started(text, { signal: leaving.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value!.length).to.be.within(1, 417 * text.length - 1)
    leaving.abort()
    await expectPaid(response, text)
  })

  it('cannot be fetched later, and says so before any charge', async () => {
    const { status, json } = await speak('Hello', { prefer: 'respond-async' })
    expect([status, json.error.param]).to.deep.equal([400, 'Prefer'])
    expect((await listen('Hello', { prefer: 'return=respond-async' })).response.status).to.equal(200)
  })

  it('is quoted at what it is charged, instructions too', async () => {
    const body = { ...bodyOf('Hello there'), instructions: 'Slowly.' }
    const { json } = await account.post('/v1/quotes', { endpoint: SPEECH, body })
    const credits = priceOf('Hello thereSlowly.')
    expect(json).to.include({ credits, minimum: credits })
  })
})
