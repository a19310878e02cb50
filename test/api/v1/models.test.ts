import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { endpoints } from '../../../src/api/routes.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useOneAccount, useWeb } from '../../support/gateway.ts'

type Model = Record<string, unknown>

const byId = (models: Model[], id: string): Model => models.find((one) => one['id'] === id)!

const DOLLARS = ['prompt', 'completion', 'request', 'image', 'input_cache_read', 'input_cache_write']

/** Models whose ids have to be encoded. */
const IDS = ['maker/chat', 'maker/line/chat', 'maker%2Fchat', 'a b:c@d']

const STATED = { name: 'A chat', description: 'For a test.', contextLength: 200_000, maxOutputTokens: 8000 }

const io = (input: string, output: string) => ({ input_modalities: input.split(' '), output_modalities: [output] })
const providing = (context_length: number | null, max_completion_tokens: number | null) => ({
  top_provider: { context_length, max_completion_tokens, is_moderated: false },
})

const at = (...paths: string[]) => ({ supported_endpoints: paths.map((path) => `/v1/${path}`) })

/** Entries of the list, as far as they are fixed. */
const ENTRIES: Record<string, Model[]> = {
  'sandbox-image': [{ modality: 'image', credits: 40 }],
  'sandbox-video': [
    { modality: 'video', credits: 250, ...at('videos/generations', 'videos'), ...providing(null, null) },
    { name: 'sandbox-video', description: '', context_length: 0, max_output_tokens: null, supported_parameters: [] },
    { architecture: io('text image', 'video') },
  ],
  'sized-video': [{ durations: [4, 8], resolutions: ['720p', '1080p'] }],
  'ranged-video': [{ durations: { min: 2, max: 12.5, default: 5, step: 0.1 } }],
  'sized-image': [{ resolutions: ['16x16', '1K', '2K'] }],
  'sandbox-chat': [
    { modality: 'chat', credits: 1, defaultOutputTokens: 1024 },
    { pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 } },
  ],
  'agents-chat': [{ defaultOutputTokens: 16_384, maxOutputTokens: 32_000 }],
  'short-chat': [{ defaultOutputTokens: 500, maxOutputTokens: 500 }],
  'stating-chat': [
    { ...STATED, context_length: 200_000, max_output_tokens: 8000, ...providing(200_000, 8000) },
    { architecture: io('text image audio file', 'text'), ...at('chat/completions', 'messages', 'responses') },
  ],
  'sandbox-embedding': [
    { modality: 'embedding', credits: 1, context_length: 0, ...at('embeddings') },
    { architecture: io('text', 'embeddings'), pricing: { input: 1, perTokens: 10, minimum: 1 } },
  ],
  'paid-moderation': [
    { modality: 'moderation', credits: 3, ...at('moderations'), architecture: io('text image', 'text') },
  ],
  'by-500': [
    { modality: 'rerank', credits: 2, documentTokens: 500, ...at('rerank') },
    { architecture: io('text', 'rerank'), pricing: { perSearch: 2 } },
  ],
}

describe('the models', () => {
  const web = useWeb({}, ({ models }) => {
    const chat = byId(models, 'sandbox-chat')
    const [first, second] = byId(models, 'fallback-chat')['upstreams'] as object[]
    models.push(
      { ...chat, id: 'agents-chat', maxOutputTokens: 32_000, defaultOutputTokens: 16_384 },
      { ...chat, id: 'short-chat', maxOutputTokens: 500 },
      {
        ...chat,
        ...STATED,
        id: 'stating-chat',
        partTokens: { input_audio: 5000, file: 9000, document: 9000, odd: 1 },
        upstreams: [
          { ...first, drop: ['temperature'] },
          { ...second, drop: ['response_format'] },
        ],
      },
      { ...byId(models, 'sandbox-moderation'), id: 'paid-moderation', credits: 3, free: false },
      { ...byId(models, 'sandbox-rerank'), id: 'by-500', documentTokens: 500 },
      ...IDS.map((id) => ({ ...chat, id, name: `named ${id}`, ownedBy: id.split('/')[0] })),
      ...Array.from({ length: 23 }, (_, nth) => ({ ...chat, id: `more/chat-${nth}` })),
    )
  })
  const account = useOneAccount(web)

  const listed = async (): Promise<Reply['json'][]> => (await account.get('/v1/models')).json.data
  const model = (path: string, by = account) => by.get(`/v1/models/${path}`)

  describe('GET /v1/models', () => {
    it('lists enabled models with a configured upstream, in the form that clients read, without dollars', async () => {
      const { status, json } = await account.get('/v1/models')
      expect([status, json.ok, json.object]).to.deep.equal([200, true, 'list'])
      const ids = json.data.map(({ id }: { id: string }) => id)
      expect(ids).to.include.members(['sandbox-chat', 'sandbox-image', 'sandbox-video'])
      expect(ids).not.to.include.oneOf(['disabled-image', 'unavailable-image'])
      const paths = new Set(endpoints.filter(({ method }) => method === 'post').map(({ path }): string => path))
      for (const one of json.data) {
        expect(one).to.include({ object: 'model' })
        expect(MODALITIES).to.include(one.modality)
        for (const name of ['credits', 'created', 'context_length'])
          expect(one[name], `${one.id} ${name}`).to.satisfy(Number.isInteger)
        for (const name of ['name', 'owned_by']) expect(one[name], one.id).to.be.a('string').and.not.equal('')
        expect(one.description, one.id).to.be.a('string')
        expect(one).not.to.have.any.keys('upstreams', 'routes', 'price')
        expect(one.architecture).to.have.keys('input_modalities', 'output_modalities')
        expect(one.top_provider).to.have.keys('context_length', 'max_completion_tokens', 'is_moderated')
        expect(one.supported_endpoints.filter((path: string) => !paths.has(path))).to.deep.equal([])
        expect(one.supported_endpoints).not.to.deep.equal([])
        expect(one.pricing ?? {}).not.to.have.any.keys(...DOLLARS)
      }
    })

    it('says of each what the catalogue does: prices, options, lengths, parts, and where it is called', async () => {
      const data = await listed()
      for (const [id, entry] of Object.entries(ENTRIES))
        expect(byId(data, id), id).to.deep.include(Object.assign({}, ...entry))
      expect(data.filter(({ contextLength }) => contextLength)).to.have.length(1)
      for (const id of ['sandbox-image', 'sandbox-video', 'paid-moderation'])
        expect(byId(data, id)).not.to.have.any.keys('pricing', 'durations', 'resolutions')
    })

    it('says of a chat what all its upstreams are sent', async () => {
      const data = await listed()
      const taken = byId(data, 'stating-chat')['supported_parameters']
      expect(taken).to.include.members(['tools', 'tool_choice', 'reasoning', 'max_tokens', 'seed'])
      for (const left of ['temperature', 'response_format', 'structured_outputs']) expect(taken).not.to.include(left)
      const all = byId(data, 'sandbox-chat')['supported_parameters']
      expect(all).to.include.members(['temperature', 'structured_outputs'])
    })
  })

  describe('GET /v1/models/{id}', () => {
    it('answers the element of the list, with the slash of its id encoded or not, decoded once', async () => {
      const data = await listed()
      for (const id of ['sandbox-chat', 'sandbox-image', 'sized-video', ...IDS]) {
        const encoded = encodeURIComponent(id)
        for (const path of [encoded, encoded.replaceAll('%2F', '/'), `${encoded}?beta=true`]) {
          const { status, json } = await model(path)
          expect([status, json], path).to.deep.equal([200, { ok: true, ...byId(data, id) }])
        }
      }
      expect((await model('maker%2Fchat')).json.id).to.equal('maker/chat')
    })

    it('is owned by whom the catalogue names, and by nobody whom only the operator knows', async () => {
      expect((await model('maker/chat')).json.owned_by).to.equal('maker')
      expect((await model('sandbox-chat')).json.owned_by).to.equal('tollgate')
    })

    it('answers 404 with one sentence for a model that is not there, and one that the key may not call', async () => {
      const own = await web.account()
      await changeKey(web.db, own.keyId, { models: ['maker/chat'] })
      const hidden = ['none', 'disabled-image', 'unavailable-image', 'sandbox-chat', 'maker/none', 'maker/chat/', '%zz']
      for (const path of hidden) {
        const { status, json } = await model(path, own)
        expect([status, json.error.code]).to.deep.equal([404, 'model_not_found'])
        expect(json.error.message).to.equal('There is no such model, or this key may not call it: see GET /v1/models.')
      }
      expect((await model('maker/chat', own)).status).to.equal(200)
      expect((await model('/', own)).json.error.code, 'no path of a model').to.equal('not_found')
    })
  })

  describe('GET /v1/models with anthropic-version', () => {
    const FORM = { 'anthropic-version': '2023-06-01' }

    const models = (query = '', headers: Record<string, string> = FORM) => account.get(`/v1/models${query}`, headers)

    it('has twenty chats on a page that names no limit, up to a thousand, and no field of ours', async () => {
      const { json, headers } = await models()
      const { data, ...page } = json
      expect(page).to.deep.equal({ has_more: true, first_id: 'sandbox-chat', last_id: data[19].id })
      expect(data).to.have.length(20)
      expect(headers.get('request-id')).to.equal(headers.get('x-request-id'))
      expect(headers.get('x-ratelimit-limit-requests')).to.equal('600')
      const all = (await models('?limit=1000&beta=true')).json
      expect([all.data.length, all.has_more]).to.deep.equal([34, false])
      const none = (await models('?before_id=sandbox-chat')).json
      expect(none).to.deep.equal({ data: [], has_more: false, first_id: null, last_id: null })
    })

    it('refuses a limit or a place that is none, in the form of Anthropic', async () => {
      for (const [query, param] of [
        ['?limit=1001', 'limit'],
        ['?limit=1&limit=2', 'limit'],
        ['?after_id=none', 'after_id'],
        ['?before_id=sandbox-image', 'before_id'],
        ['?after_id=sandbox-chat&before_id=dear-chat', 'before_id'],
      ]) {
        const { status, json, headers } = await models(query)
        expect([status, json.type, json.error.type], query).to.deep.equal([400, 'error', 'invalid_request_error'])
        expect(json.error.message, query).to.match(new RegExp(`^${param} `))
        expect(json).to.have.keys('type', 'error', 'request_id')
        expect(headers.get('request-id')).to.equal(json.request_id)
        expect(headers.get('x-should-retry')).to.equal('false')
      }
    })

    it('is in the form of OpenAI without it, whatever the query says, and changes no other endpoint', async () => {
      const { status, json, headers } = await models('?limit=0&after_id=none', {})
      expect([status, json.object, headers.get('request-id')]).to.deep.equal([200, 'list', null])
      expect((await account.get('/v1/calls/call_1', FORM)).json.error.code).to.equal('not_found')
      const refused = await account.send('POST', '/v1/models', { headers: FORM })
      expect([refused.status, refused.json.error.code]).to.deep.equal([405, 'method_not_allowed'])
    })
  })
})

describe('the models of a catalogue that says what a credit is worth', () => {
  const price = { input: 1, output: 3, cachedInput: 0, perCall: 2, perTokens: 1_000_000, minimum: 1 }
  const web = useWeb({}, (catalogue) => {
    Object.assign(catalogue, { creditMicroUsd: 1000 })
    byId(catalogue.models, 'sandbox-chat')['pricing'] = price
    Object.assign(byId(catalogue.models, 'ranged-video'), { credits: undefined, prices: [{ perSecond: 7 }] })
    Object.assign(byId(catalogue.models, 'sandbox-moderation'), { credits: 3, free: false })
  })

  it('have prices in dollars, each of them', async () => {
    const none = Object.fromEntries(DOLLARS.map((field) => [field, '0']))
    const { data } = (await (await web.account()).get('/v1/models')).json
    const tokens = { prompt: '0.000000001', completion: '0.000000003', input_cache_write: '0.000000001' }
    for (const [id, pricing] of Object.entries({
      'sandbox-chat': { ...price, ...none, ...tokens, request: '0.002' },
      'sandbox-image': { ...none, image: '0.04' },
      'ranged-video': { ...none, request: '0.014' },
      'sandbox-moderation': { ...none, request: '0.003' },
      'sandbox-rerank': { perSearch: 2, ...none, request: '0.002' },
    }))
      expect(byId(data, id)['pricing'], id).to.deep.equal(pricing)
    const embedding = byId(data, 'sandbox-embedding')['pricing']
    expect(embedding).to.deep.include({ perTokens: 10, prompt: '0.0001', request: '0' })
    for (const one of data) expect(one.pricing, one.id).to.include.keys(...DOLLARS)
  })
})
