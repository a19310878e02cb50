import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useWeb } from '../../support/gateway.ts'

const byId = (models: Record<string, unknown>[], id: string): Record<string, unknown> =>
  models.find((one) => one['id'] === id)!

const DOLLARS = ['prompt', 'completion', 'request', 'image', 'input_cache_read', 'input_cache_write']

/** Models whose ids have to be encoded. */
const IDS = ['maker/chat', 'maker/line/chat', 'maker%2Fchat', 'a b:c@d']

const STATED = { name: 'A chat', description: 'For a test.', contextLength: 200_000, maxOutputTokens: 8000 }

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
      ...IDS.map((id) => ({ ...chat, id, name: `named ${id}`, ownedBy: id.split('/')[0] })),
      ...Array.from({ length: 23 }, (_, nth) => ({ ...chat, id: `more/chat-${nth}` })),
    )
  })
  let key: string
  before(async () => {
    ;({ key } = await web.account())
  })

  const listed = async (): Promise<Reply['json'][]> => (await get(`${web.url}/v1/models`, key)).json.data
  const model = (path: string, by = key) => get(`${web.url}/v1/models/${path}`, by)

  describe('GET /v1/models', () => {
    it('lists enabled models with a configured upstream, in the specified form', async () => {
      const reply = await get(`${web.url}/v1/models`, key)
      expect(reply.status).to.equal(200)
      expect(reply.json).to.include({ ok: true, object: 'list' })
      const ids = reply.json.data.map(({ id }: { id: string }) => id)
      expect(ids).to.include.members(['sandbox-chat', 'sandbox-image', 'sandbox-video'])
      for (const hidden of ['disabled-image', 'unavailable-image']) expect(ids).not.to.include(hidden)
      for (const one of reply.json.data) {
        expect(one).to.include({ object: 'model' })
        expect(MODALITIES).to.include(one.modality)
        expect(one.credits).to.be.a('number').that.satisfies(Number.isInteger)
        expect(one.created).to.be.a('number').that.satisfies(Number.isInteger)
        expect(one.owned_by).to.be.a('string')
        expect(one).not.to.have.any.keys('upstreams', 'routes', 'price')
      }
    })

    it('shows the price and options of media, and the least price and rates of chat', async () => {
      const data = await listed()
      expect(byId(data, 'sandbox-image'))
        .to.include({ modality: 'image', credits: 40 })
        .and.not.to.have.any.keys('pricing')
      expect(byId(data, 'sandbox-video'))
        .to.include({ modality: 'video', credits: 250 })
        .and.not.to.have.any.keys('durations', 'resolutions')
      expect(byId(data, 'sized-video')).to.deep.include({ durations: [4, 8], resolutions: ['720p', '1080p'] })
      expect(byId(data, 'ranged-video')).to.deep.include({ durations: { min: 2, max: 12.5, default: 5, step: 0.1 } })
      expect(byId(data, 'sized-image')).to.deep.include({ resolutions: ['16x16', '1K', '2K'] })
      expect(byId(data, 'sandbox-chat')).to.deep.include({
        modality: 'chat',
        credits: 1,
        pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 },
      })
    })

    it('states the lengths of a chat where the catalogue does, and the output of one that names no limit', async () => {
      const data = await listed()
      const lengths = data.flatMap(({ id, contextLength }) => (contextLength ? [[id, contextLength]] : []))
      expect(lengths).to.deep.equal([['stating-chat', 200_000]])
      const stated = ['sandbox-chat', 'agents-chat', 'short-chat'].map((id) => {
        const { defaultOutputTokens, maxOutputTokens } = byId(data, id)
        return [defaultOutputTokens, maxOutputTokens]
      })
      expect(stated).to.deep.equal([
        [1024, undefined],
        [16_384, 32_000],
        [500, 500],
      ])
    })

    it('has in every entry what clients read of other gateways, in their types, and no price in dollars', async () => {
      const data = await listed()
      const paths = new Set(endpoints.filter(({ method }) => method === 'post').map(({ path }): string => path))
      for (const one of data) {
        expect(one.name, one.id).to.be.a('string').and.not.equal('')
        expect(one.description, one.id).to.be.a('string')
        expect(one.context_length, one.id).to.be.a('number')
        expect(one.architecture).to.have.keys('input_modalities', 'output_modalities')
        expect(one.top_provider).to.have.keys('context_length', 'max_completion_tokens', 'is_moderated')
        expect(one.supported_endpoints.filter((path: string) => !paths.has(path))).to.deep.equal([])
        expect(one.supported_endpoints).not.to.deep.equal([])
        expect(one.pricing ?? {}).not.to.have.any.keys(...DOLLARS)
      }
      expect(byId(data, 'sandbox-video')).to.deep.include({
        name: 'sandbox-video',
        description: '',
        context_length: 0,
        max_output_tokens: null,
        top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
        architecture: { input_modalities: ['text', 'image'], output_modalities: ['video'] },
        supported_parameters: [],
        supported_endpoints: ['/v1/videos/generations', '/v1/videos'],
      })
    })

    it('says of a chat what the catalogue does: lengths, parts, and what all its upstreams are sent', async () => {
      const data = await listed()
      const chat = byId(data, 'stating-chat')
      expect(chat).to.deep.include({
        name: 'A chat',
        description: 'For a test.',
        context_length: 200_000,
        max_output_tokens: 8000,
        top_provider: { context_length: 200_000, max_completion_tokens: 8000, is_moderated: false },
        architecture: { input_modalities: ['text', 'image', 'audio', 'file'], output_modalities: ['text'] },
        supported_endpoints: ['/v1/chat/completions', '/v1/messages', '/v1/responses'],
      })
      const taken = chat['supported_parameters']
      expect(taken).to.include.members(['tools', 'tool_choice', 'reasoning', 'max_tokens', 'seed'])
      for (const left of ['temperature', 'response_format', 'structured_outputs']) expect(taken).not.to.include(left)
      const all = byId(data, 'sandbox-chat')['supported_parameters']
      expect(all).to.include.members(['temperature', 'structured_outputs'])
    })

    it('answers HEAD like GET, without the list or the model', async () => {
      for (const path of ['', '/maker/chat']) {
        const reply = await send('HEAD', `${web.url}/v1/models${path}`, { key })
        expect([reply.status, reply.text]).to.deep.equal([200, ''])
      }
    })
  })

  describe('GET /v1/models/{id}', () => {
    it('answers the element of the list, with the slash of its id encoded or not', async () => {
      const data = await listed()
      for (const id of ['sandbox-chat', 'sandbox-image', 'sized-video', ...IDS]) {
        const entry = byId(data, id)
        const encoded = encodeURIComponent(id)
        for (const path of [encoded, encoded.replaceAll('%2F', '/'), `${encoded}?beta=true`]) {
          const { status, json } = await model(path)
          expect([status, json], path).to.deep.equal([200, { ok: true, ...entry }])
        }
      }
    })

    it('is owned by whom the catalogue names, and by nobody whom only the operator knows', async () => {
      expect((await model('maker/chat')).json.owned_by).to.equal('maker')
      expect((await model('sandbox-chat')).json.owned_by).to.equal('tollgate')
    })

    it('decodes an id once', async () => {
      expect((await model('maker%252Fchat')).json.id).to.equal('maker%2Fchat')
      expect((await model('maker%2Fchat')).json.id).to.equal('maker/chat')
    })

    it('answers 404 with one sentence for a model that is not there, and one that the key may not call', async () => {
      const account = await web.account()
      await changeKey(web.db, account.keyId, { models: ['maker/chat'] })
      const hidden = ['none', 'disabled-image', 'unavailable-image', 'sandbox-chat', 'maker/none', 'maker/chat/', '%zz']
      const replies = await Promise.all(hidden.map((path) => model(path, account.key)))
      for (const { status, json } of replies) {
        expect([status, json.error.code]).to.deep.equal([404, 'model_not_found'])
        expect(json.error.message).to.equal('There is no such model, or this key may not call it: see GET /v1/models.')
      }
      expect((await model('maker/chat', account.key)).status).to.equal(200)
      expect((await model('/', account.key)).json.error.code, 'no path of a model').to.equal('not_found')
    })
  })

  describe('GET /v1/models with anthropic-version', () => {
    const FORM = { 'anthropic-version': '2023-06-01' }

    const models = (query = '', headers: Record<string, string> = FORM) =>
      get(`${web.url}/v1/models${query}`, key, headers)

    it('has twenty chats on a page that names no limit, up to a thousand, and no field of ours', async () => {
      const { json, headers } = await models()
      expect(json).to.have.keys('data', 'has_more', 'first_id', 'last_id')
      expect([json.data.length, json.has_more, json.first_id, json.last_id]).to.deep.equal([
        20,
        true,
        'sandbox-chat',
        json.data[19].id,
      ])
      expect(headers.get('request-id')).to.equal(headers.get('x-request-id'))
      expect(headers.get('x-ratelimit-limit-requests')).to.equal('600')
      const all = (await models('?limit=1000&beta=true')).json
      expect([all.data.length, all.has_more]).to.deep.equal([34, false])
      const none = (await models('?before_id=sandbox-chat')).json
      expect(none).to.deep.equal({ data: [], has_more: false, first_id: null, last_id: null })
    })

    it('refuses a limit or a place that is none, in the form of Anthropic', async () => {
      for (const [query, param] of [
        ['?limit=0', 'limit'],
        ['?limit=1001', 'limit'],
        ['?limit=x', 'limit'],
        ['?limit=1&limit=2', 'limit'],
        ['?after_id=none', 'after_id'],
        ['?before_id=sandbox-image', 'before_id'],
        ['?after_id=', 'after_id'],
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

    it('is in the form of OpenAI without it, whatever the query says', async () => {
      const { status, json, headers } = await models('?limit=0&after_id=none', {})
      expect([status, json.object, headers.get('request-id')]).to.deep.equal([200, 'list', null])
    })

    it('changes no other endpoint', async () => {
      const { json } = await get(`${web.url}/v1/calls/call_1`, key, FORM)
      expect([json.ok, json.error.code]).to.deep.equal([false, 'not_found'])
      const refused = await send('POST', `${web.url}/v1/models`, { key, headers: FORM })
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
    const { key } = await web.account()
    const { data } = (await get(`${web.url}/v1/models`, key)).json
    const pricing = (id: string) => byId(data, id)['pricing']
    expect(pricing('sandbox-chat')).to.deep.equal({
      ...price,
      ...none,
      prompt: '0.000000001',
      completion: '0.000000003',
      request: '0.002',
      input_cache_write: '0.000000001',
    })
    expect(pricing('sandbox-image')).to.deep.equal({ ...none, image: '0.04' })
    expect(pricing('ranged-video')).to.deep.equal({ ...none, request: '0.014' })
    expect(pricing('sandbox-moderation')).to.deep.equal({ ...none, request: '0.003' })
    expect(pricing('sandbox-rerank')).to.deep.equal({ perSearch: 2, ...none, request: '0.002' })
    expect(pricing('sandbox-embedding')).to.deep.include({ perTokens: 10, prompt: '0.0001', request: '0' })
    for (const one of data) expect(one.pricing, one.id).to.include.keys(...DOLLARS)
  })
})
