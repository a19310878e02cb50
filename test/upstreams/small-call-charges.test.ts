import { expect } from 'chai'
import fc from 'fast-check'
import { callOf, prompted } from '../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { inSoak, report, seed } from '../crash/scale.ts'
import { silence } from '../shared/media-files/fixtures.ts'
import { expectBooksToBalance } from '../support/books.ts'

/** How many requests of each kind are made. */
const REQUESTS = inSoak ? 400 : 40

const FUNDS = 10_000_000

const served = (model: string) => ({ upstreams: [{ upstream: 'sandbox', model }] })

/** A model of each kind, at which every unit that an upstream bills costs a credit or more. */
const MODELS = [
  {
    id: 'billed-embedding',
    modality: 'embedding',
    pricing: { input: 1, perTokens: 1, minimum: 1 },
    ...served('embedding-sandbox'),
  },
  { id: 'billed-moderation', modality: 'moderation', credits: 2, ...served('moderation-sandbox') },
  {
    id: 'billed-rerank',
    modality: 'rerank',
    pricing: { perSearch: 7 },
    documentTokens: 100,
    ...served('rerank-sandbox'),
  },
  { id: 'billed-speech', modality: 'speech', pricing: { perCharacter: 1 }, ...served('speech-sandbox') },
  {
    id: 'billed-transcription',
    modality: 'transcription',
    prices: [{ perSecond: 3 }],
    ...served('transcription-sandbox'),
  },
]

const HOSTILE = (
  'service_tier extra_body tools n num_images seconds fps upscale models store chunking_strategy include priority ' +
  'input_type truncate duration __proto__'
).split(' ')

/** What a client may try: fields that some upstream or other bills for, or takes for another field. */
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.constantFrom(...HOSTILE),
      fc.constantFrom<unknown>(1, 2, 11, '8', 'flex', true, ['a'], { a: 1 }, null),
      { minKeys: 1, maxKeys: 2 },
    ),
  },
)

/** Most of them good: of many fields, one that is bad is enough for a refusal. */
const mostly = (good: unknown[], ...bad: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })

const words = fc.string({ unit: fc.constantFrom('a', 'é', '🎺', ' ', '\n', '"'), minLength: 1, maxLength: 300 })

/** The fields of a request, and its files; `prompt` names it in the sandbox's journal. */
type Sent = { fields: Record<string, unknown>; files: { field: string; bytes: number }[] }

/** A kind of call: what may be asked, and what an upstream bills of what it was sent, in credits. */
type Kind = {
  title: string
  path: string
  model: string
  isForm?: true
  asked: fc.Arbitrary<Record<string, unknown>>
  /** The fields of a request with this prompt. */
  named: (prompt: string, asked: Record<string, unknown>) => Record<string, unknown>
  /** What an upstream may be sent beside its model. */
  takes: string[]
  bill: (sent: Sent) => number
}

const tokens = (text: unknown): number => Math.ceil(Buffer.byteLength(String(text)) / 3)

const optional = <T extends Record<string, unknown>>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Record<string, unknown>>

const KINDS: Kind[] = [
  {
    title: 'embeddings',
    path: 'embeddings',
    model: 'billed-embedding',
    asked: optional({
      more: fc.oneof(fc.array(words, { maxLength: 4 }), fc.constant([''])),
      encoding_format: mostly(['float', 'base64', null], 'int8'),
      dimensions: mostly([8, 16, null], 0, 2.5, 1e9),
      user: mostly(['ada'], 7),
    }),
    named: (prompt, { more = [], ...asked }) => ({ input: [prompt, ...(more as string[])], ...asked }),
    takes: ['input', 'encoding_format', 'dimensions', 'user'],
    bill: ({ fields }) => (fields.input as string[]).reduce((sum, text) => sum + tokens(text), 0),
  },
  {
    title: 'moderations',
    path: 'moderations',
    model: 'billed-moderation',
    asked: optional({ more: fc.oneof(fc.array(words, { maxLength: 4 }), fc.constant([7])) }),
    named: (prompt, { more = [], ...asked }) => ({ input: [prompt, ...(more as string[])], ...asked }),
    takes: ['input'],
    bill: () => 2,
  },
  {
    title: 'rankings',
    path: 'rerank',
    model: 'billed-rerank',
    asked: optional({
      documents: fc.array(
        fc.oneof(
          words,
          words.map((text) => ({ text })),
          fc.constant('x'.repeat(2000)),
        ),
        {
          minLength: 1,
          maxLength: 250,
        },
      ),
      top_n: mostly([1, 5, 1000, null], 0, '3'),
      max_tokens_per_doc: mostly([10, 100_000, null], -1),
      return_documents: mostly([true, false], 'yes'),
    }),
    named: (query, asked) => ({ query, documents: ['a'], ...asked }),
    takes: ['query', 'documents', 'top_n', 'max_tokens_per_doc'],
    bill({ fields }) {
      const read = (fields.documents as string[]).map((text) => Math.ceil((tokens(fields.query) + tokens(text)) / 100))
      return 7 * Math.ceil(read.reduce((sum, documents) => sum + documents, 0) / 100)
    },
  },
  {
    title: 'speech',
    path: 'audio/speech',
    model: 'billed-speech',
    asked: optional({
      more: words,
      instructions: mostly(['slowly', '🎺'.repeat(50), null], 7),
      voice: mostly(['alloy', { id: 'v' }], {}, null),
      response_format: mostly(['mp3', 'wav', null], 'midi'),
      speed: mostly([0.25, 1, 4, null], 0.1, '1'),
      stream_format: mostly(['audio', null], 'sse'),
    }),
    named: (prompt, { more = '', ...asked }) => ({ input: `${prompt} ${String(more)}`, voice: 'alloy', ...asked }),
    takes: ['input', 'voice', 'instructions', 'response_format', 'speed'],
    bill: ({ fields: { input, instructions = '' } }) => Array.from(`${String(input)}${String(instructions)}`).length,
  },
  {
    title: 'transcriptions',
    path: 'audio/transcriptions',
    model: 'billed-transcription',
    isForm: true,
    named: (prompt, asked) => ({ prompt, ...asked }),
    // The file is 44 bytes of head, and 16,000 a second.
    bill: ({ files: [file] }) => 3 * Math.ceil((file!.bytes - 44) / 16_000),
    asked: optional({
      lasting: mostly([1, 2, 7], 0),
      language: mostly(['en'], ''),
      temperature: mostly(['0', '0.5'], '2'),
      response_format: mostly(['json', 'text', 'srt', 'vtt', 'verbose_json'], 'pdf'),
      'timestamp_granularities[]': mostly([undefined], 'word', 'day'),
      stream: mostly(['false'], 'true'),
    }),
    takes: ['prompt', 'language', 'temperature', 'response_format', 'timestamp_granularities[]'],
  },
]

// Pictures and videos: media-charges.test.ts.
describe('the charge of any call that is neither a chat nor makes pictures', () => {
  let gateway: Gateway
  /** All kinds are asked for at the same time; each test waits for its own. */
  const counts = new Map<Kind, Promise<{ sent: number; refused: number }>>()
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      models.push(...(MODELS as never[]))
    })
    for (const kind of KINDS) {
      const counted = playMany(kind)
      counted.catch(() => {})
      counts.set(kind, counted)
    }
  })
  after(async () => {
    await until('all calls have ended', async () => {
      const [row] = await gateway.db('calls').whereNull('finished_at').count<{ count: number }[]>()
      return row!.count === 0
    })
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
  })

  /** A form of texts, with a file of sound of so many seconds. */
  function formOf({ lasting = 1, ...fields }: Record<string, unknown>): FormData {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
    form.append('file', new Blob([new Uint8Array(silence(Number(lasting)))]), 'a.wav')
    return form
  }

  const sentFor = (prompt: string) => gateway.sandbox.journal(prompt).filter(({ method }) => method === 'POST')

  /** Sends one. @returns what its upstream was sent and what it was charged; null where it was refused for nothing */
  async function play(account: TestAccount, { path, model, isForm, named }: Kind, asked: Record<string, unknown>) {
    const prompt = prompted()
    const fields = { model, ...named(prompt, asked) }
    const before = await balanceOf(gateway.db, account.id)
    const reply = await post(`${gateway.url}/v1/${path}`, account.key, isForm ? formOf(fields) : fields)
    if (reply.status !== 200) {
      expect(reply.status, reply.text).to.be.within(400, 499)
      expect(sentFor(prompt), `refused, and sent: ${reply.text}`).to.deep.equal([])
      expect(await balanceOf(gateway.db, account.id), `refused, and charged: ${reply.text}`).to.equal(before)
      return null
    }
    await until('its upstream has it', () => sentFor(prompt).length > 0)
    const [line, ...more] = sentFor(prompt)
    expect(more, 'sent once').to.deep.equal([])
    const body = line!.body as Record<string, unknown>
    const row = await gateway
      .db('calls')
      .where({ id: callOf(reply) })
      .first<{ credits_precharged: number }>()
    const sent = isForm ? (body as unknown as Sent) : { fields: body.fields ?? body, files: [] }
    return { sent: sent as Sent, charge: row.credits_precharged }
  }

  async function playMany(kind: Kind) {
    // Each has its own: one account may ask only so often in a minute.
    const account = await anAccount(gateway.db, FUNDS)
    const made = { sent: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(kind.asked, hostile, async (asked, more) => {
        const played = await play(account, kind, { ...asked, ...more })
        made[played ? 'sent' : 'refused']++
        if (!played) return
        const { model: _model, ...fields } = played.sent.fields
        expect(kind.takes, 'nothing that was not priced').to.include.members(Object.keys(fields))
        expect(played.charge).to.be.at.least(kind.bill(played.sent))
      }),
      { numRuns: REQUESTS, seed },
    )
    return made
  }

  for (const kind of KINDS) {
    it(`is that of all that its upstream is sent, or it is refused before any charge: ${kind.title}`, async () => {
      const { sent, refused } = await counts.get(kind)!
      report(`${REQUESTS} ${kind.title}: ${sent} sent at their price, ${refused} refused; seed ${seed}`)
      // If none were served, or none refused, this would prove little.
      expect(sent).to.be.above(REQUESTS / 10)
      expect(refused).to.be.above(0)
    }).timeout(120_000 + 100 * REQUESTS)
  }
})
