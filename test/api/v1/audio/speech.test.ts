import { expect } from 'chai'
import OpenAI from 'openai'
import { begin } from '../../../../scripts/harness/http.ts'
import { SPEECH, prompted } from '../../../../scripts/harness/calling.ts'
import { eventually } from '../../../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'

const FUNDS = 1_000_000

/** Three credits for two characters, and five at least. */
const priceOf = (characters: number): number => Math.max(5, Math.ceil((characters * 3) / 2))

describe('POST /v1/audio/speech', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, FUNDS)

  const speak = (input: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    account.post(SPEECH, { model: 'sandbox-speech', voice: 'alloy', input, ...more }, headers)
  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })

  /** The answer's bytes as far as they came, and whether it ended as a whole one. */
  async function listen(input: string, more: object = {}, headers: Record<string, string> = {}) {
    const response = await begin(
      `${gateway.url}${SPEECH}`,
      account.key,
      { model: 'sandbox-speech', voice: 'alloy', input, ...more },
      { headers },
    )
    let bytes = 0
    try {
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length
    } catch {
      return { response, bytes, isWhole: false }
    }
    return { response, bytes, isWhole: true }
  }

  it('is charged by its characters, and sends sound with credits and balance in its headers', async () => {
    const text = `${prompted()} äöü 👍`
    const { response, bytes, isWhole } = await listen(text)
    expect([response.status, isWhole]).to.deep.equal([200, true])
    expect(response.headers.get('content-type')).to.equal('audio/mpeg')
    expect(bytes).to.equal(417 * Array.from(text).length)
    const cost = priceOf(Array.from(text).length)
    expect(response.headers.get('x-credits')).to.equal(String(cost))
    expect(response.headers.get('x-balance')).to.equal(String(FUNDS - cost))
    await eventually(async () => {
      const record = await gateway.record({ headers: response.headers } as never)
      expect(record).to.include({ modality: 'speech', status: 'succeeded', credits: cost, creditsPrecharged: cost })
    })
  })

  it("serves OpenAI's own SDK, with a voice by its name or its id", async () => {
    for (const voice of ['alloy', { id: 'voice_1' }]) {
      const answer = await client().audio.speech.create({
        model: 'sandbox-speech',
        voice,
        input: 'Hello there',
        response_format: 'wav',
        speed: 1.5,
      } as OpenAI.Audio.SpeechCreateParams)
      const sound = Buffer.from(await answer.arrayBuffer())
      expect(sound.toString('latin1', 0, 4)).to.equal('RIFF')
      expect(sound.length).to.equal(44 + 11 * 1440 * 2)
    }
  })

  it('sends sound as it comes', async () => {
    const response = await begin(`${gateway.url}${SPEECH}`, account.key, {
      model: 'sandbox-speech',
      voice: 'x',
      input: `${prompted()} [hang-after 1]`,
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value!.length).to.be.above(0)
    await reader.cancel()
  })

  it('ends as a broken transfer where it fails after its first byte, and is charged in full (E3.8)', async () => {
    const text = prompted('[chunks 4 50] [reset-after 2]')
    const { response, bytes, isWhole } = await listen(text)
    expect([response.status, isWhole]).to.deep.equal([200, false])
    expect(bytes).to.be.above(0)
    await eventually(async () => {
      const record = await gateway.record({ headers: response.headers } as never)
      expect(record).to.include({ status: 'succeeded', credits: priceOf(Array.from(text).length) })
    })
  })

  it('is an error in JSON, refunded, where it fails before its first byte', async () => {
    for (const words of ['[status 500]', '[reset]', '[empty]', '[garbage]', '[reset-after 0]']) {
      const reply = await speak(prompted(words))
      expect([reply.status, reply.json?.error.type], words).to.deep.equal([502, 'upstream_failed'])
      expect(await gateway.movements(reply)).to.have.length(2)
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('is not stored: whoever comes back for it gets 410, and is not charged again', async () => {
    const headers = { 'idempotency-key': prompted() }
    const { response } = await listen('Hello there', {}, headers)
    const again = await speak('Hello there', {}, headers)
    expect([again.status, again.json.error.type]).to.deep.equal([410, 'result_expired'])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.headers.get('x-call-id')).to.equal(response.headers.get('x-call-id'))
    const fetched = await account.get(`/v1/calls/${response.headers.get('x-call-id')}`)
    expect(fetched.status).to.equal(410)
    expect(await account.balance()).to.equal(FUNDS - priceOf(11))
  })

  it('gives a request that joins it 410, and is charged once', async () => {
    const headers = { 'idempotency-key': prompted() }
    const text = prompted('[chunks 4 300]')
    const [first, second] = await Promise.all([listen(text, {}, headers), listen(text, {}, headers)])
    expect([first.response.status, second.response.status]).to.have.members([200, 410])
    expect(await account.balance()).to.equal(FUNDS - priceOf(Array.from(text).length))
  })

  it('goes on for a client that leaves, and is charged in full', async () => {
    const text = prompted('[chunks 4 100]')
    const leaving = new AbortController()
    const response = await begin(
      `${gateway.url}${SPEECH}`,
      account.key,
      { model: 'sandbox-speech', voice: 'x', input: text },
      { signal: leaving.signal },
    )
    leaving.abort()
    await eventually(async () => {
      const record = await gateway.record({ headers: response.headers } as never)
      expect(record).to.include({ status: 'succeeded', credits: priceOf(Array.from(text).length) })
    })
  })

  it('cannot be fetched later, and says so before any charge', async () => {
    const { status, json } = await speak('Hello', {}, { prefer: 'respond-async' })
    expect([status, json.error.param]).to.deep.equal([400, 'Prefer'])
    expect((await listen('Hello', {}, { prefer: 'return=respond-async' })).response.status).to.equal(200)
  })

  it('takes 4,096 characters of any kind', async () => {
    const { response, isWhole } = await listen('👍'.repeat(4096))
    expect([response.status, isWhole]).to.deep.equal([200, true])
    expect(response.headers.get('x-credits')).to.equal(String(priceOf(4096)))
  })

  it('is quoted at what it is charged', async () => {
    const body = { model: 'sandbox-speech', voice: 'x', input: 'Hello there', instructions: 'Slowly.' }
    const { json } = await account.post('/v1/quotes', { endpoint: SPEECH, body })
    expect(json).to.include({ credits: priceOf(18), minimum: priceOf(18) })
  })
})
