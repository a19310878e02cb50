import { expect } from 'chai'
import OpenAI from 'openai'
import { get } from '../../../scripts/harness/http.ts'
import { EMBEDDINGS, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const FUNDS = 1_000_000

describe('POST /v1/embeddings', () => {
  const gateway = useGateway({ LONG_CALL_AFTER_SECONDS: '1', LONG_CALL_REPLY: 'accepted' }, ({ models }) => {
    const model = models.find(({ id }) => id === 'sandbox-embedding')!
    const at = (name: string, more: object = {}) => [{ upstream: 'sandbox', model: name, ...more }]
    models.push(
      { ...model, id: 'numbers', upstreams: at('embedding-numbers', { drop: ['encoding_format'] }) },
      { ...model, id: 'fixed', upstreams: at('embedding-sandbox', { drop: ['dimensions'] }) },
      { ...model, id: 'stated', maxDimensions: 1000 },
    )
  })
  const account = useAccount(gateway, FUNDS)

  const embed = (input: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    account.post(EMBEDDINGS, { model: 'sandbox-embedding', input, ...more }, headers)
  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
  const numbersOf = (base64: string): number[] => {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
    return Array.from(new Float32Array(bytes.buffer))
  }

  for (const model of ['sandbox-embedding', 'numbers']) {
    it(`writes vectors as numbers unless base64 is asked for, the same ones (${model})`, async () => {
      const input = [prompted(), prompted(), prompted()]
      const numbers = await embed(input, { model })
      expect(numbers.status, numbers.text).to.equal(200)
      const { ok, object, data, model: named, usage } = numbers.json
      expect({ ok, object, named }).to.deep.equal({ ok: true, object: 'list', named: model })
      expect(data.map(({ index }: { index: number }) => index)).to.deep.equal([0, 1, 2])
      expect(usage).to.have.all.keys('prompt_tokens', 'total_tokens', 'credits', 'balance')
      const { json } = await embed(input, { model, encoding_format: 'base64' })
      for (const [at, { embedding }] of data.entries()) {
        expect(embedding).to.have.length(8)
        expect(numbersOf(json.data[at].embedding)).to.deep.equal(Array.from(Float32Array.from(embedding)))
      }
      expect(
        new Set(data.map((one: unknown) => JSON.stringify((one as { embedding: unknown }).embedding))).size,
      ).to.equal(3)
    })
  }

  it("serves OpenAI's own SDK, which asks for base64 by itself", async () => {
    const text = prompted()
    const answer = await client().embeddings.create({
      model: 'sandbox-embedding',
      input: [text, 'other'],
      dimensions: 16,
    })
    expect(answer.data).to.have.length(2)
    expect(answer.data[0]!.embedding).to.have.length(16)
    const { json } = await embed(text, { dimensions: 16 })
    expect(Array.from(Float32Array.from(answer.data[0]!.embedding))).to.deep.equal(
      Array.from(Float32Array.from(json.data[0].embedding as number[])),
    )
    expect(answer.usage.prompt_tokens).to.be.above(0)
  })

  it('charges a list of tokens exactly, and settles texts on what the upstream reports', async () => {
    const tokens = Array.from({ length: 1005 }, (_, at) => at)
    const listed = await embed([tokens, [1, 2, 3]])
    expect(listed.json.usage).to.deep.equal({
      prompt_tokens: 1008,
      total_tokens: 1008,
      credits: 101,
      balance: FUNDS - 101,
    })
    expect(await gateway.movements(listed)).to.deep.equal(['charge -101'])
    const text = await embed(`${prompted('[usage 50 0]')} ${'x'.repeat(400)}`)
    expect(text.json.usage).to.include({ prompt_tokens: 50, credits: 5 })
    const record = await gateway.record(text)
    expect(record).to.include({
      modality: 'embedding',
      inputTokens: 50,
      outputTokens: 0,
      status: 'succeeded',
      credits: 5,
    })
    expect(record.dialect).to.equal(null)
    expect(record.creditsPrecharged).to.be.above(5)
  })

  it('settles on what was charged where the upstream reports nothing, or what cannot be true', async () => {
    for (const words of ['[no-usage]', '[usage 900000 0]']) {
      const text = prompted(words)
      const { json } = await embed(text)
      expect(json.usage.prompt_tokens, words).to.equal(Math.ceil(Buffer.byteLength(text) / 3))
    }
  })

  it('is quoted at what it is charged', async () => {
    const body = { model: 'sandbox-embedding', input: [[1, 2, 3], Array.from({ length: 100 }, () => 7)] }
    const { json } = await account.post('/v1/quotes', { endpoint: EMBEDDINGS, body })
    expect(json).to.include({ credits: 11, minimum: 1, affordable: true })
    const called = await embed(body.input)
    expect((await gateway.record(called)).creditsPrecharged).to.equal(11)
  })

  it('is refused where its client would come back for it, and only there', async () => {
    for (const prefer of ['respond-async', 'wait=5, Respond-Async; x=1']) {
      const { json } = await embed('a', {}, { prefer })
      expect(json.error, prefer).to.include({ code: 'invalid_request', param: 'Prefer' })
    }
    for (const prefer of ['wait=5', 'return=respond-async', 'x="a, respond-async"'])
      expect((await embed('a', {}, { prefer })).status, prefer).to.equal(200)
  })

  it('takes as many texts in base64 as OpenAI does, and answers in full', async () => {
    const input = Array.from({ length: 2048 }, (_, at) => `text ${at}`)
    const reply = await embed(input, { encoding_format: 'base64', dimensions: 3072 })
    expect(reply.status).to.equal(200)
    expect(reply.text.length).to.be.within(33_000_000, 40_000_000)
    expect(reply.json.data).to.have.length(2048)
    expect(numbersOf(reply.json.data[2047].embedding)).to.have.length(3072)
    expect(reply.json.usage.balance).to.equal(await account.balance())
  })

  it('takes bodies beyond the limit of other calls', async () => {
    const input = Array.from({ length: 40 }, () => 'word '.repeat(20_000))
    const reply = await embed(input)
    expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
  })

  it('gives an answer once: who comes back for it gets 410, and is not charged again', async () => {
    const headers = { 'idempotency-key': prompted() }
    const input = prompted()
    const first = await embed(input, {}, headers)
    expect(first.status).to.equal(200)
    const balance = await account.balance()
    const again = await embed(input, {}, headers)
    expect(again.status, again.text).to.equal(410)
    expect(again.json.error.code).to.equal('result_expired')
    expect([again.headers.get('idempotent-replayed'), callOf(again)]).to.deep.equal(['true', callOf(first)])
    const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
    expect(fetched.status).to.equal(410)
    expect(await account.balance()).to.equal(balance)
    expect((await embed('another', {}, headers)).status).to.equal(422)
  })

  it('stores nothing of an answer but that there was one, and gives no answer away while it passes', async () => {
    const reply = await embed(prompted())
    const [row] = await gateway.db('call_results').where({ call_id: callOf(reply) })
    expect(row).to.include({ output: '' })
    await gateway.db('passing_answers').update({ created_at: gateway.db.raw("now() - interval '3 minutes'") })
    await until(
      'the answer is swept',
      async () => (await gateway.db('passing_answers').where({ call_id: callOf(reply) })).length === 0,
    )
  })

  it('is joined by an equal request while it runs, and both get the answer, charged once', async () => {
    const headers = { 'idempotency-key': prompted() }
    const input = prompted('[delay 1500]')
    const replies = await Promise.all([embed(input, {}, headers), embed(input, {}, headers)])
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(callOf(replies[0]!)).to.equal(callOf(replies[1]!))
    expect(replies[0]!.json).to.deep.equal(replies[1]!.json)
  })

  it('does not charge again where an answer was lost on the way: its retry gets 410', async () => {
    const input = prompted('[delay 1000]')
    const left = new AbortController()
    const body = JSON.stringify({ model: 'sandbox-embedding', input })
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
    const lost = fetch(`${gateway.url}${EMBEDDINGS}`, { method: 'POST', headers, body, signal: left.signal })
    const { id } = account
    const calls = () => gateway.db('calls').where({ account_id: id })
    await until('it runs', async () => (await calls()).some(({ status }) => status === 'running'))
    left.abort()
    await lost.catch(() => {})
    await until('it has ended', async () => (await calls()).every(({ status }) => status === 'succeeded'))
    const retried = await embed(input, {}, { 'x-stainless-retry-count': '1' })
    expect(retried.status, retried.text).to.equal(410)
    expect(await account.counts()).to.include({ charged: 1 })
  })

  it('waits however long it takes, since its answer cannot be fetched', async () => {
    const slow = await embed(prompted('[delay 2500]'), {}, { prefer: 'wait=1' })
    expect(slow.status).to.equal(200)
    expect(slow.json.data).to.have.length(1)
  })

  for (const words of ['[fail]', '[empty]', '[status 400]', '[garbage]']) {
    it(`refunds all of it where the upstream answers ${words}, and its failure is told again`, async () => {
      const headers = { 'idempotency-key': prompted() }
      const input = prompted(words)
      const failed = await embed(input, {}, headers)
      expect(failed.status, failed.text).to.equal(502)
      expect(await account.balance()).to.equal(FUNDS)
      const fetched = await account.get(`/v1/calls/${publicId('call', callOf(failed))}`)
      expect(fetched.json).to.deep.equal(failed.json)
    })
  }

  it('is listed with its price and where it is called', async () => {
    const { json } = await account.get('/v1/models/sandbox-embedding')
    expect(json).to.deep.include({
      modality: 'embedding',
      credits: 1,
      context_length: 0,
      supported_endpoints: [EMBEDDINGS],
      architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
    })
    expect(json.pricing).to.include({ input: 1, perTokens: 10, minimum: 1 })
  })
})
