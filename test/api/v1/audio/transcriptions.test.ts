import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { TRANSCRIPTIONS, callOf, prompted } from '../../../../scripts/harness/calling.ts'
import { eventually, until } from '../../../../scripts/harness/until.ts'
import { publicId } from '../../../../src/shared/platform/ids.ts'
import { RECORDINGS, recording, silence } from '../../../shared/media-files/fixtures.ts'
import type { Field } from './send-form.ts'
import { sendForm } from './send-form.ts'
import { uploadsLeft } from '../../forms/form-server.ts'
import { useGateway } from '../../../support/gateway.ts'
import type { Caller } from '../../../support/caller.ts'

const FUNDS = 1_000_000
const PER_SECOND = 2

describe('POST /v1/audio/transcriptions', () => {
  const gateway = useGateway({}, ({ models }) => {
    const model = models.find(({ id }) => id === 'sandbox-transcription')!
    const upstream = { upstream: 'sandbox', model: 'transcription-sandbox' }
    models.push(
      { ...model, id: 'json-alone', upstreams: [{ ...upstream, set: { response_format: 'json' } }] },
      { ...model, id: 'english-alone', upstreams: [{ ...upstream, drop: ['language'] }] },
    )
  })
  let account: Caller
  beforeEach(async () => {
    account = await gateway.account(FUNDS)
  })
  afterEach(async () => {
    await eventually(async () => {
      expect(uploadsLeft()).to.deep.equal([])
      expect(await gateway.db('uploads').select('call_id', 'place', 'chunk')).to.deep.equal([])
    })
  })

  const sendTo = (fields: Field[], headers: Record<string, string> = {}, path = TRANSCRIPTIONS): Promise<Reply> =>
    sendForm(`${gateway.url}${path}`, account.key, fields, headers)

  const transcribe = (more: Field[] = [], file = silence(5), headers?: Record<string, string>) =>
    sendTo([['model', 'sandbox-transcription'], ['file', file], ...more], headers)

  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })

  it('is charged by the whole seconds of its file before it is sent, and settled at them (E3.6)', async () => {
    const reply = await transcribe([['prompt', prompted()]], silence(5).subarray(0, -100))
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.text).to.match(/^Sandbox heard/)
    expect(reply.json.ok).to.equal(true)
    expect(reply.json.usage).to.deep.equal({
      type: 'duration',
      seconds: 5,
      credits: 5 * PER_SECOND,
      balance: FUNDS - 5 * PER_SECOND,
    })
    expect(await gateway.movements(reply)).to.deep.equal([`charge -${5 * PER_SECOND}`])
    const record = await gateway.record(reply)
    expect(record).to.include({ modality: 'transcription', status: 'succeeded', creditsPrecharged: 10, credits: 10 })
  })

  it('is charged for a second at least, and not for what its head or its upstream says (E3.5)', async () => {
    const short = await transcribe([], silence(1).subarray(0, 400))
    expect(short.json.usage).to.include({ seconds: 1, credits: PER_SECOND })
    const none = await transcribe([], silence(7).fill(0, 40, 44))
    expect(none.json.usage.seconds).to.equal(7)
    const said = await transcribe([['prompt', prompted('[usage 4000 0]')]], silence(7))
    expect(said.json.usage).to.include({ seconds: 7, credits: 7 * PER_SECOND })
  })

  for (const [file, kind] of RECORDINGS) {
    it(`takes ${file}, and sends it on as what it is, without a tag in front`, async () => {
      const reply = await transcribe([], recording(file))
      expect(reply.status, `${kind} ${reply.text}`).to.equal(200)
      expect(reply.json.usage.seconds).to.equal(4)
      const tag = kind === 'mp3' ? 45 : 0
      expect(reply.json.text).to.contain(`in ${recording(file).length - tag} bytes`)
    })
  }

  it("serves OpenAI's own SDK in every format, at one price (E3.5)", async () => {
    const file = async () => toFile(silence(8), 'speech.wav')
    const model = 'sandbox-transcription'
    const prompt = prompted('[answer Hello there, my old friend.]')
    const { transcriptions, translations } = client().audio
    const json = await transcriptions.create({ model, prompt, file: await file() })
    expect(json.text).to.equal('Hello there, my old friend.')
    const text = await transcriptions.create({ model, prompt, file: await file(), response_format: 'text' })
    expect(text).to.equal('Hello there, my old friend.\n')
    const srt = await transcriptions.create({ model, prompt, file: await file(), response_format: 'srt' })
    expect(srt).to.equal(
      '1\n00:00:00,000 --> 00:00:04,800\nHello there, my\n\n2\n00:00:04,800 --> 00:00:08,000\nold friend.\n\n',
    )
    const vtt = await transcriptions.create({ model, prompt, file: await file(), response_format: 'vtt' })
    expect(vtt).to.match(/^WEBVTT\n\n00:00:00\.000 --> 00:00:04\.800\nHello there, my\n\n/)
    const verbose = await transcriptions.create({
      model,
      prompt,
      file: await file(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    expect(verbose).to.deep.include({ duration: 8, language: 'english' })
    expect(verbose.segments).to.have.length(2)
    expect(verbose.words).to.have.length(5)
    const translated = await translations.create({ model, prompt, file: await file(), response_format: 'verbose_json' })
    expect(translated).to.deep.include({ task: 'translate', text: 'Hello there, my old friend.' })
    expect(await account.balance()).to.equal(FUNDS - 6 * 8 * PER_SECOND)
  })

  it('tells credits and balance of what is no JSON in headers', async () => {
    const reply = await transcribe([['response_format', 'srt']])
    expect(reply.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(reply.headers.get('x-credits')).to.equal('10')
    expect(reply.headers.get('x-balance')).to.equal(String(FUNDS - 10))
  })

  it('makes one subtitle where the upstream has no segments', async () => {
    const fields: Field[] = [
      ['model', 'json-alone'],
      ['response_format', 'srt'],
      ['prompt', prompted('[answer Hi.]')],
    ]
    const reply = await sendTo([...fields, ['file', silence(3)]])
    expect(reply.text).to.equal('1\n00:00:00,000 --> 00:00:03,000\nHi.\n\n')
  })

  it('refuses what its upstream would not be sent, before any charge', async () => {
    const asked: [model: string, fields: Field[], param: string][] = [
      ['english-alone', [['language', 'de']], 'language'],
      [
        'json-alone',
        [
          ['response_format', 'verbose_json'],
          ['timestamp_granularities[]', 'word'],
        ],
        'timestamp_granularities',
      ],
    ]
    for (const [model, fields, param] of asked) {
      const { status, json } = await sendTo([['model', model], ['file', silence(1)], ...fields])
      expect([status, json.error.type, json.error.param]).to.deep.equal([400, 'invalid_request', param])
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('takes `timestamp_granularities` with brackets and without (E3.7)', async () => {
    for (const name of ['timestamp_granularities', 'timestamp_granularities[]']) {
      const reply = await transcribe([
        ['response_format', 'verbose_json'],
        [name, 'word'],
      ])
      expect(reply.json.words, name).to.be.an('array')
    }
  })

  it('gives a retry with the same key and the same parts the first answer, in its form, for nothing', async () => {
    const headers = { 'idempotency-key': prompted() }
    const first = await transcribe([['response_format', 'vtt']], silence(5), headers)
    const again = await transcribe([['response_format', 'vtt']], silence(5), headers)
    expect([again.status, again.text]).to.deep.equal([200, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.headers.get('x-credits')).to.equal('10')
    const other = await transcribe([['response_format', 'vtt']], silence(6), headers)
    expect(other.json.error.type).to.equal('idempotency_conflict')
    const fields: Field[] = [
      ['model', 'sandbox-transcription'],
      ['file', silence(5)],
      ['response_format', 'vtt'],
    ]
    const translation = await sendTo(fields, headers, '/v1/audio/translations')
    expect(translation.json.error.type).to.equal('idempotency_conflict')
    expect(await account.balance()).to.equal(FUNDS - 10)
    const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
    expect([fetched.status, fetched.text, fetched.headers.get('content-type')]).to.deep.equal([
      200,
      first.text,
      'text/vtt; charset=utf-8',
    ])
  })

  it('is refunded where its upstream fails, and its file is gone (E3.9)', async () => {
    for (const words of ['[status 500]', '[reset]', '[garbage]', '[empty]']) {
      const reply = await transcribe([['prompt', prompted(words)]])
      expect([reply.status, reply.json.error.type], words).to.deep.equal([502, 'upstream_failed'])
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('is refunded where its file was lost on the way', async () => {
    const emptying = setInterval(() => {
      gateway
        .db('uploads')
        .delete()
        .catch(() => {})
    }, 1)
    try {
      const replies = await Promise.all(Array.from({ length: 5 }, () => transcribe([['prompt', prompted()]])))
      for (const { status } of replies) expect(status).to.be.oneOf([200, 502])
    } finally {
      clearInterval(emptying)
    }
  })

  it('is refused at more than X-Max-Credits, and where the balance is too low, before any charge', async () => {
    const dear = await transcribe([], silence(5), { 'x-max-credits': '9' })
    expect([dear.status, dear.json.error.type]).to.deep.equal([422, 'price_above_limit'])
    account = await gateway.account(9)
    const poor = await transcribe()
    expect([poor.status, poor.json.error.type]).to.deep.equal([402, 'insufficient_credits'])
  })

  it('can be fetched later', async () => {
    const reply = await transcribe(
      [
        ['response_format', 'text'],
        ['prompt', prompted('[answer Later.]')],
      ],
      silence(5),
      {
        prefer: 'respond-async',
      },
    )
    expect(reply.status).to.equal(202)
    const fetched = await account.get(`${reply.headers.get('location')}?wait=30`)
    expect([fetched.status, fetched.text]).to.deep.equal([200, 'Later.\n'])
  })

  it('counts its file among the bytes that its account has open', async () => {
    const words = prompted('[hold]')
    const pending = transcribe([['prompt', words]], silence(60))
    await eventually(async () => {
      const row = await gateway.db('accounts').where({ id: account.id }).first('request_bytes')
      expect(Number(row.request_bytes)).to.be.within(60 * 16_000, 60 * 16_000 + 5000)
      expect(await gateway.db('uploads').count('*').first()).to.not.deep.equal({ count: 0 })
    })
    await until('the upstream has it', () => gateway.sandbox.release(words) > 0)
    expect((await pending).status).to.equal(200)
  })
})
