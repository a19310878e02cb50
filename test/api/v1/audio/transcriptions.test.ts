import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { TRANSCRIPTIONS, callOf, prompted } from '../../../../scripts/harness/calling.ts'
import { eventually, until } from '../../../../scripts/harness/until.ts'
import { publicId } from '../../../../src/shared/platform/ids.ts'
import { RECORDINGS, recording, silence } from '../../../shared/media-files/fixtures.ts'
import { uploadsLeft } from '../../forms/form-server.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'

/** A part of a form: a text, or the bytes of a file. */
type Field = [name: string, value: string | Buffer]

const FUNDS = 1_000_000
const PER_SECOND = 2

const format = (response_format: string): Field => ['response_format', response_format]
const saying = (words: string): Field => ['prompt', prompted(words)]

/** More than four hours of MP3, 72 ms in 72 bytes. */
function long(): Buffer {
  const frame = Buffer.alloc(72)
  frame.writeUInt32BE(0xffe31800)
  return Buffer.concat(Array.from({ length: 200_100 }, () => frame))
}

describe('POST /v1/audio/transcriptions', () => {
  const gateway = useGateway({}, ({ models }) => {
    const model = models.find(({ id }) => id === 'sandbox-transcription')!
    const at = (id: string, more: object) =>
      models.push({ ...model, id, upstreams: [{ upstream: 'sandbox', model: 'transcription-sandbox', ...more }] })
    at('json-alone', { set: { response_format: 'json' } })
    at('english-alone', { drop: ['language'] })
  })
  const account = useAccount(gateway, FUNDS)
  afterEach(async () => {
    await eventually(async () => {
      expect(uploadsLeft()).to.deep.equal([])
      expect(await gateway.db('uploads').select('call_id', 'place', 'chunk')).to.deep.equal([])
    })
  })

  type Headers = Record<string, string>
  function sendTo(fields: Field[], headers: Headers = {}, path = TRANSCRIPTIONS): Promise<Reply> {
    const form = new FormData()
    for (const [name, value] of fields) {
      if (typeof value === 'string') form.append(name, value)
      else form.append(name, new Blob([new Uint8Array(value)]), 'speech')
    }
    return account.post(path, form, headers)
  }
  const fieldsOf = (more: Field[], file: Buffer, model = 'sandbox-transcription'): Field[] => [
    ['model', model],
    ['file', file],
    ...more,
  ]
  const transcribe = (more: Field[] = [], file = silence(5), headers?: Headers) => sendTo(fieldsOf(more, file), headers)

  it('is charged by the whole seconds of its file before it is sent, and settled at them (E3.6)', async () => {
    const reply = await transcribe([['prompt', prompted()]], silence(5).subarray(0, -100))
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.text).to.match(/^Sandbox heard/)
    expect(reply.json.ok).to.equal(true)
    const usage = { type: 'duration', seconds: 5, credits: 10, balance: FUNDS - 10 }
    expect(reply.json.usage).to.deep.equal(usage)
    expect(await gateway.movements(reply)).to.deep.equal(['charge -10'])
    const record = await gateway.record(reply)
    expect(record).to.include({ modality: 'transcription', status: 'succeeded', creditsPrecharged: 10, credits: 10 })
  })

  it('is charged for a second at least, and not for what its head or its upstream says (E3.5)', async () => {
    for (const [seconds, file, ...more] of [
      [1, silence(1).subarray(0, 400)],
      [7, silence(7).fill(0, 40, 44)],
      [7, silence(7), saying('[usage 4000 0]')],
    ] as [number, Buffer, ...Field[]][]) {
      const { json } = await transcribe(more, file)
      expect(json.usage).to.include({ seconds, credits: seconds * PER_SECOND })
    }
  })

  it('is of every kind of file, which is sent on as what it is, without a tag in front', async () => {
    for (const [file, kind] of RECORDINGS) {
      const reply = await transcribe([], recording(file))
      expect(reply.status, `${kind} ${reply.text}`).to.equal(200)
      expect(reply.json.usage.seconds).to.equal(4)
      const tag = kind === 'mp3' ? 45 : 0
      expect(reply.json.text).to.contain(`in ${recording(file).length - tag} bytes`)
    }
  })

  it("serves OpenAI's own SDK in every format, at one price (E3.5)", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
    const { transcriptions, translations } = client.audio
    const said = 'Hello there, my old friend.'
    const asked = { model: 'sandbox-transcription', prompt: prompted(`[answer ${said}]`) }
    const made = async <T extends object>(more: T) => ({
      ...asked,
      file: await toFile(silence(8), 'speech.wav'),
      ...more,
    })
    expect((await transcriptions.create(await made({}))).text).to.equal(said)
    expect(await transcriptions.create(await made({ response_format: 'text' as const }))).to.equal(`${said}\n`)
    expect(await transcriptions.create(await made({ response_format: 'srt' as const }))).to.equal(
      '1\n00:00:00,000 --> 00:00:04,800\nHello there, my\n\n2\n00:00:04,800 --> 00:00:08,000\nold friend.\n\n',
    )
    const vtt = await transcriptions.create(await made({ response_format: 'vtt' as const }))
    expect(vtt).to.match(/^WEBVTT\n\n00:00:00\.000 --> 00:00:04\.800\nHello there, my\n\n/)
    const verbose = { response_format: 'verbose_json' as const }
    const timed = { ...verbose, timestamp_granularities: ['word' as const, 'segment' as const] }
    const { segments, words, ...whole } = await transcriptions.create(await made(timed))
    expect(whole).to.include({ duration: 8, language: 'english' })
    expect([segments!.length, words!.length]).to.deep.equal([2, 5])
    expect(await translations.create(await made(verbose))).to.deep.include({ task: 'translate', text: said })
    expect(await account.balance()).to.equal(FUNDS - 6 * 8 * PER_SECOND)
  })

  it('makes one subtitle where the upstream has no segments, and tells credits and balance in headers', async () => {
    const { headers, text } = await sendTo(fieldsOf([format('srt'), saying('[answer Hi.]')], silence(3), 'json-alone'))
    expect(text).to.equal('1\n00:00:00,000 --> 00:00:03,000\nHi.\n\n')
    const told = ['content-type', 'x-credits', 'x-balance'].map((name) => headers.get(name))
    expect(told).to.deep.equal(['text/plain; charset=utf-8', '6', String(FUNDS - 6)])
  })

  it('refuses what its upstream would not be sent, before any charge', async () => {
    const WORDS: Field[] = [format('verbose_json'), ['timestamp_granularities[]', 'word']]
    for (const [model, fields, param] of [
      ['english-alone', [['language', 'de']], 'language'],
      ['json-alone', WORDS, 'timestamp_granularities'],
    ] as [string, Field[], string][]) {
      const { status, json } = await sendTo(fieldsOf(fields, silence(1), model))
      expect([status, json.error.type, json.error.param]).to.deep.equal([400, 'invalid_request', param])
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('takes `timestamp_granularities` with brackets and without (E3.7)', async () => {
    for (const name of ['timestamp_granularities', 'timestamp_granularities[]'])
      expect((await transcribe([format('verbose_json'), [name, 'word']])).json.words, name).to.be.an('array')
  })

  it('gives a retry with the same key and the same parts the first answer, in its form, for nothing', async () => {
    const headers = { 'idempotency-key': prompted() }
    const first = await transcribe([format('vtt')], silence(5), headers)
    const again = await transcribe([format('vtt')], silence(5), headers)
    expect([again.status, again.text]).to.deep.equal([200, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.headers.get('x-credits')).to.equal('10')
    for (const conflict of [
      await transcribe([format('vtt')], silence(6), headers),
      await sendTo(fieldsOf([format('vtt')], silence(5)), headers, '/v1/audio/translations'),
    ])
      expect(conflict.json.error.type).to.equal('idempotency_conflict')
    expect(await account.balance()).to.equal(FUNDS - 10)
    const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
    expect([fetched.status, fetched.text]).to.deep.equal([200, first.text])
    expect(fetched.headers.get('content-type')).to.equal('text/vtt; charset=utf-8')
  })

  it('is refunded where its upstream fails, and its file is gone (E3.9)', async () => {
    for (const words of ['[status 500]', '[reset]', '[garbage]', '[empty]']) {
      const reply = await transcribe([saying(words)])
      expect([reply.status, reply.json.error.type], words).to.deep.equal([502, 'upstream_failed'])
    }
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('is refunded where its file was lost on the way', async () => {
    await gateway.stopWorker()
    const pending = transcribe()
    await until('its file to be there', async () => (await gateway.db('uploads').delete()) > 0)
    await gateway.startWorker()
    expect((await pending).status).to.equal(502)
    expect(await account.balance()).to.equal(FUNDS)
  })

  it('counts its file among the bytes that its account has open', async () => {
    const words = prompted('[hold]')
    const pending = transcribe([['prompt', words]], silence(60))
    await eventually(async () => {
      const [bytes] = await gateway.db('accounts').where({ id: account.id }).pluck<number[]>('request_bytes')
      expect(Number(bytes)).to.be.within(60 * 16_000, 60 * 16_000 + 5000)
      expect(await gateway.db('uploads').count('*').first()).to.not.deep.equal({ count: 0 })
    })
    await until('the upstream has it', () => gateway.sandbox.release(words) > 0)
    expect((await pending).status).to.equal(200)
  })

  const FILE: Field = ['file', silence(1)]
  const REFUSED: [what: string, fields: Field[], param: string][] = [
    ['no file', [], 'file'],
    ['a text for its file', [['file', 'x']], 'file'],
    ['two files (E3.9)', [FILE, FILE], 'file'],
    ['a picture', [['file', Buffer.from('GIF89a')]], 'file'],
    ['more than four hours', [['file', long()]], 'file'],
    ['a form that it does not have', [FILE, format('diarized_json')], 'response_format'],
    ['a stream', [FILE, ['stream', 'true']], 'stream'],
    ['times without verbose_json', [FILE, ['timestamp_granularities[]', 'word']], 'timestamp_granularities'],
    ['a prompt of more than 2,000 characters', [FILE, ['prompt', 'x'.repeat(2001)]], 'prompt'],
    ['a temperature that is none', [FILE, ['temperature', 'hot']], 'temperature'],
    ['a field that it does not know', [FILE, ['include[]', 'logprobs']], 'include[]'],
    ['a strategy', [FILE, ['chunking_strategy', 'auto']], 'chunking_strategy'],
  ]
  for (const [what, fields, param] of REFUSED)
    it(`is refused with ${what}, before any charge`, async () => {
      const { status, json, text } = await sendTo([['model', 'sandbox-transcription'], ...fields])
      expect([status, json.error.type, json.error.param], text).to.deep.equal([400, 'invalid_request', param])
      expect((await account.counts()).entries).to.equal(1)
    })

  it('is refused without a model, as 400 `unsupported_model` says', async () => {
    for (const fields of [[['model', 'none'] as Field], []]) {
      const reply = await sendTo([...fields, ['file', silence(1)]])
      expect([reply.status, reply.json.error.type]).to.deep.equal([400, 'unsupported_model'])
    }
  })
})
