import { expect } from 'chai'
import OpenAI from 'openai'
import { EMBEDDINGS, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const FUNDS = 1_000_000

type Data = { index: number; embedding: number[] }[]

// What is refused: small-call-fields.test.ts; the order and the form of vectors, failures and reports of upstreams:
// test/workers/upstreams.
describe('POST /v1/embeddings', () => {
  const gateway = useGateway({ LONG_CALL_AFTER_SECONDS: '1', LONG_CALL_REPLY: 'accepted' }, ({ models, upstreams }) => {
    const model = models.find(({ id }) => id === 'sandbox-embedding')!
    const numbers = { upstream: 'sandbox', model: 'embedding-numbers', drop: ['encoding_format'] }
    models.push({ ...model, id: 'numbers', upstreams: [numbers] })
    const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
    upstreams.gemini = { ...sandbox, protocol: 'gemini', baseUrl: baseUrl.replace('/v1', '/gemini') }
    models.push({ ...model, id: 'gemini', upstreams: [{ upstream: 'gemini', model: 'gemini-embedding' }] })
  })
  const account = useAccount(gateway, FUNDS)

  const embed = (input: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    account.post(EMBEDDINGS, { model: 'sandbox-embedding', input, ...more }, headers)
  const calls = () => gateway.db('calls').where({ account_id: account.id })
  const floats = (numbers: number[]) => Array.from(Float32Array.from(numbers))
  const numbersOf = (base64: string): number[] =>
    Array.from(new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer))

  it('are refused of tokens where a model reads texts alone', async () => {
    const reply = await embed([[1, 2]], { model: 'gemini' })
    expect([reply.status, reply.json.error.param]).to.deep.equal([400, 'input'])
  })

  it('writes vectors as numbers unless base64 is asked for, the same ones, whatever its upstream writes', async () => {
    for (const model of ['sandbox-embedding', 'numbers']) {
      const input = [prompted(), prompted()]
      const numbers = await embed(input, { model })
      expect(numbers.json, numbers.text).to.include({ ok: true, object: 'list', model })
      const data = numbers.json.data as Data
      expect(data.map(({ index }) => index)).to.deep.equal([0, 1])
      expect(numbers.json.usage).to.have.all.keys('prompt_tokens', 'total_tokens', 'credits', 'balance')
      const { json } = await embed(input, { model, encoding_format: 'base64' })
      for (const [at, { embedding }] of data.entries()) {
        expect(embedding).to.have.length(8)
        expect(numbersOf(json.data[at].embedding)).to.deep.equal(floats(embedding))
      }
    }
  })

  it("serves OpenAI's own SDK, which asks for base64 by itself", async () => {
    const text = prompted()
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const asked = { model: 'sandbox-embedding', input: [text, 'other'], dimensions: 16 }
    const { data, usage } = await client.embeddings.create(asked)
    expect(data.map(({ embedding }) => embedding.length)).to.deep.equal([16, 16])
    const { json } = await embed(text, { dimensions: 16 })
    expect(floats(data[0]!.embedding)).to.deep.equal(floats((json.data as Data)[0]!.embedding))
    expect(usage.prompt_tokens).to.be.above(0)
  })

  it('charges a list of tokens exactly, as quoted, and settles texts on what the upstream reports', async () => {
    const input = [Array.from({ length: 1005 }, (_, at) => at), [1, 2, 3]]
    const body = { model: 'sandbox-embedding', input }
    const quote = await account.post('/v1/quotes', { endpoint: EMBEDDINGS, body })
    expect(quote.json).to.include({ credits: 101, minimum: 1, affordable: true })
    const listed = await embed(input)
    const usage = { prompt_tokens: 1008, total_tokens: 1008, credits: 101, balance: FUNDS - 101 }
    expect(listed.json.usage).to.deep.equal(usage)
    expect(await gateway.movements(listed)).to.deep.equal(['charge -101'])
    const text = await embed(`${prompted('[usage 50 0]')} ${'x'.repeat(400)}`)
    expect(text.json.usage).to.include({ prompt_tokens: 50, credits: 5 })
    const { creditsPrecharged, ...record } = await gateway.record(text)
    const counts = { inputTokens: 50, outputTokens: 0, credits: 5 }
    expect(record).to.include({ modality: 'embedding', status: 'succeeded', dialect: null, ...counts })
    expect(creditsPrecharged).to.be.above(5)
    const [lying, charged] = [prompted('[usage 900000 0]'), (text: string) => Math.ceil(Buffer.byteLength(text) / 3)]
    expect((await embed(lying)).json.usage.prompt_tokens, 'what cannot be true').to.equal(charged(lying))
  })

  it('is refused where its client would come back for it, and only there: it waits however long it takes', async () => {
    for (const prefer of ['respond-async', 'wait=5, Respond-Async; x=1'])
      expect((await embed('a', {}, { prefer })).json.error, prefer).to.include({
        code: 'invalid_request',
        param: 'Prefer',
      })
    for (const prefer of ['wait=5', 'return=respond-async', 'x="a, respond-async"'])
      expect((await embed('a', {}, { prefer })).status, prefer).to.equal(200)
    expect((await embed(prompted('[delay 1200]'), {}, { prefer: 'wait=1' })).status).to.equal(200)
  })

  it('takes as many texts in base64 as OpenAI does, and bodies beyond the limit of other calls, in full', async () => {
    const input = Array.from({ length: 2048 }, (_, at) => `text ${at} ${'x'.repeat(600)}`)
    const reply = await embed(input, { encoding_format: 'base64', dimensions: 3072 })
    expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
    expect(reply.text.length).to.be.within(33_000_000, 40_000_000)
    expect(reply.json.data).to.have.length(2048)
    expect(numbersOf(reply.json.data[2047].embedding)).to.have.length(3072)
    expect(reply.json.usage.balance).to.equal(await account.balance())
  })

  it('gives an answer once and stores none: who comes back for it gets 410, and is not charged again', async () => {
    const headers = { 'idempotency-key': prompted() }
    const input = prompted()
    const first = await embed(input, {}, headers)
    expect(first.status).to.equal(200)
    const balance = await account.balance()
    const again = await embed(input, {}, headers)
    expect([again.status, again.json.error.code], again.text).to.deep.equal([410, 'result_expired'])
    expect([again.headers.get('idempotent-replayed'), callOf(again)]).to.deep.equal(['true', callOf(first)])
    expect((await account.get(`/v1/calls/${publicId('call', callOf(first))}`)).status).to.equal(410)
    expect(await account.balance()).to.equal(balance)
    expect((await embed('another', {}, headers)).status).to.equal(422)
    const call = { call_id: callOf(first) }
    expect(await gateway.db('call_results').where(call).pluck('output')).to.deep.equal([''])
    await gateway.db('passing_answers').update({ created_at: gateway.db.raw("now() - interval '3 minutes'") })
    await until('it is swept', async () => (await gateway.db('passing_answers').where(call)).length === 0)
  })

  it('is joined by an equal request while it runs, and both get the answer, charged once', async () => {
    const headers = { 'idempotency-key': prompted() }
    const input = prompted('[delay 700]')
    const [one, other] = await Promise.all([embed(input, {}, headers), embed(input, {}, headers)])
    expect([one.status, other.status, callOf(one)]).to.deep.equal([200, 200, callOf(other)])
    expect(one.json).to.deep.equal(other.json)
  })

  it('does not charge again where an answer was lost on the way: its retry gets 410', async () => {
    const input = prompted('[hold]')
    const left = new AbortController()
    const body = { model: 'sandbox-embedding', input }
    const lost = account.send('POST', EMBEDDINGS, { body, signal: left.signal }).catch(() => null)
    await until('the upstream to have it', () => gateway.sandbox.open(input).open > 0)
    left.abort()
    await lost
    await until('it is left', () => calls().whereNotNull('abandoned_at').first())
    gateway.sandbox.release(input)
    await until('it has ended', () => calls().where({ status: 'succeeded' }).first())
    const retried = await embed(input, {}, { 'x-stainless-retry-count': '1' })
    expect(retried.status, retried.text).to.equal(410)
    expect(await account.counts()).to.include({ charged: 1 })
  })

  it('is refunded where the upstream fails, and its failure is told again', async () => {
    const failed = await embed(prompted('[fail]'))
    expect(failed.status, failed.text).to.equal(502)
    expect((await account.get(`/v1/calls/${publicId('call', callOf(failed))}`)).json).to.deep.equal(failed.json)
    expect(await account.balance()).to.equal(FUNDS)
  })
})
