import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'

const byId = (models: Record<string, unknown>[], id: string): Record<string, unknown> =>
  models.find((one) => one['id'] === id)!

const DOLLARS = ['prompt', 'completion', 'request', 'image', 'input_cache_read', 'input_cache_write']

describe('GET /v1/models', () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('lists enabled models with a configured upstream, in the specified form', async () => {
    const { key } = await anAccount(gateway.db)
    const reply = await get(`${gateway.url}/v1/models`, key)
    expect(reply.status).to.equal(200)
    expect(reply.json).to.include({ ok: true, object: 'list' })
    const ids = reply.json.data.map((model: { id: string }) => model.id)
    expect(ids).to.include.members(['sandbox-chat', 'sandbox-image', 'sandbox-video'])
    expect(ids).not.to.include.members(['disabled-image'])
    expect(ids).not.to.include.members(['unavailable-image'])
    for (const model of reply.json.data) {
      expect(model).to.include({ object: 'model' })
      expect(MODALITIES).to.include(model.modality)
      expect(model.credits).to.be.a('number').that.satisfies(Number.isInteger)
      expect(model.created).to.be.a('number').that.satisfies(Number.isInteger)
      expect(model.owned_by).to.be.a('string')
      expect(model).not.to.have.any.keys('upstreams', 'routes', 'price')
    }
  })

  it('shows the price and options of media, and the least price and rates of chat', async () => {
    const { key } = await anAccount(gateway.db)
    const { data } = (await get(`${gateway.url}/v1/models`, key)).json
    const model = (id: string) => byId(data, id)
    expect(model('sandbox-image')).to.include({ modality: 'image', credits: 40 }).and.not.to.have.any.keys('pricing')
    expect(model('sandbox-video'))
      .to.include({ modality: 'video', credits: 250 })
      .and.not.to.have.any.keys('durations', 'resolutions')
    expect(model('sized-video')).to.deep.include({ durations: [4, 8], resolutions: ['720p', '1080p'] })
    expect(model('ranged-video')).to.deep.include({ durations: { min: 2, max: 12.5, default: 5, step: 0.1 } })
    expect(model('sized-image')).to.deep.include({ resolutions: ['16x16', '1K', '2K'] })
    expect(model('sandbox-chat')).to.deep.include({
      modality: 'chat',
      credits: 1,
      pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 },
    })
  })

  it('states the context length of a chat where the catalogue does', async () => {
    const stating = await startGateway({}, (catalogue) => {
      byId(catalogue.models, 'sandbox-chat')['contextLength'] = 200_000
    })
    const { key } = await anAccount(stating.db)
    const { data } = (await get(`${stating.url}/v1/models`, key)).json
    const chats = data.filter(({ modality }: { modality: string }) => modality === 'chat')
    expect(
      chats.flatMap(({ id, contextLength }: Record<string, unknown>) => (contextLength ? [[id, contextLength]] : [])),
    ).to.deep.equal([['sandbox-chat', 200_000]])
    await stating.stop()
  })

  it('states the output of a chat that names no limit, and the most it may have where the catalogue does', async () => {
    const stating = await startGateway({}, ({ models }) => {
      const [chat] = models.filter(({ id }) => id === 'sandbox-chat')
      delete chat!.maxOutputTokens
      const more = { maxOutputTokens: 32_000, defaultOutputTokens: 16_384 }
      models.push({ ...chat, id: 'agents-chat', ...more }, { ...chat, id: 'short-chat', maxOutputTokens: 500 })
    })
    const { key } = await anAccount(stating.db)
    const { data } = (await get(`${stating.url}/v1/models`, key)).json
    const stated = (id: string) => {
      const model = data.find((one: { id: string }) => one.id === id)
      return [model.defaultOutputTokens, model.maxOutputTokens]
    }
    expect(stated('sandbox-chat')).to.deep.equal([1024, undefined])
    expect(stated('agents-chat')).to.deep.equal([16_384, 32_000])
    expect(stated('short-chat')).to.deep.equal([500, 500])
    await stating.stop()
  })

  it('has in every entry what clients read of other gateways, in their types', async () => {
    const { key } = await anAccount(gateway.db)
    const { data } = (await get(`${gateway.url}/v1/models`, key)).json
    const paths = new Set(endpoints.filter(({ method }) => method === 'post').map(({ path }): string => path))
    for (const model of data) {
      expect(model.name, model.id).to.be.a('string').and.not.equal('')
      expect(model.description, model.id).to.be.a('string')
      expect(model.context_length, model.id).to.be.a('number')
      expect(model.architecture).to.have.keys('input_modalities', 'output_modalities')
      expect(model.top_provider).to.have.keys('context_length', 'max_completion_tokens', 'is_moderated')
      expect(model.supported_endpoints.filter((path: string) => !paths.has(path))).to.deep.equal([])
      expect(model.supported_endpoints).not.to.deep.equal([])
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
    const stating = await startGateway({}, ({ models }) => {
      const chat = byId(models, 'fallback-chat')
      Object.assign(chat, { name: 'A chat', description: 'For a test.', contextLength: 200_000, maxOutputTokens: 8000 })
      chat['partTokens'] = { input_audio: 5000, file: 9000, document: 9000, odd: 1 }
      const [first, second] = chat['upstreams'] as Record<string, unknown>[]
      Object.assign(first!, { drop: ['temperature'] })
      Object.assign(second!, { drop: ['response_format'] })
    })
    const { key } = await anAccount(stating.db)
    const { data } = (await get(`${stating.url}/v1/models`, key)).json
    const chat = byId(data, 'fallback-chat')
    expect(chat).to.deep.include({
      name: 'A chat',
      description: 'For a test.',
      context_length: 200_000,
      max_output_tokens: 8000,
      top_provider: { context_length: 200_000, max_completion_tokens: 8000, is_moderated: false },
      architecture: { input_modalities: ['text', 'image', 'audio', 'file'], output_modalities: ['text'] },
      supported_endpoints: ['/v1/chat/completions', '/v1/messages', '/v1/responses'],
    })
    expect(chat['supported_parameters']).to.include.members(['tools', 'tool_choice', 'reasoning', 'max_tokens', 'seed'])
    for (const left of ['temperature', 'response_format', 'structured_outputs'])
      expect(chat['supported_parameters']).not.to.include(left)
    expect(byId(data, 'sandbox-chat')['supported_parameters']).to.include.members(['temperature', 'structured_outputs'])
    await stating.stop()
  })

  it('has prices in dollars in every entry where the catalogue says what a credit is worth, else in none', async () => {
    const none = Object.fromEntries(DOLLARS.map((field) => [field, '0']))
    const plain = await anAccount(gateway.db)
    for (const { pricing } of (await get(`${gateway.url}/v1/models`, plain.key)).json.data)
      expect(pricing ?? {}).not.to.have.any.keys(...DOLLARS)
    const price = { input: 1, output: 3, cachedInput: 0, perCall: 2, perTokens: 1_000_000, minimum: 1 }
    const stating = await startGateway({}, (catalogue) => {
      Object.assign(catalogue, { creditMicroUsd: 1000 })
      byId(catalogue.models, 'sandbox-chat')['pricing'] = price
      const video = byId(catalogue.models, 'ranged-video')
      delete video['credits']
      video['prices'] = [{ perSecond: 7 }]
      Object.assign(byId(catalogue.models, 'sandbox-moderation'), { credits: 3, free: false })
    })
    const { key } = await anAccount(stating.db)
    const { data } = (await get(`${stating.url}/v1/models`, key)).json
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
    await stating.stop()
  })

  it('answers HEAD like GET, without the list', async () => {
    const { key } = await anAccount(gateway.db)
    const reply = await send('HEAD', `${gateway.url}/v1/models`, { key })
    expect([reply.status, reply.text]).to.deep.equal([200, ''])
  })
})

describe('GET /v1/models/{id}', () => {
  const IDS = ['maker/chat', 'maker/line/chat', 'maker%2Fchat', 'a b:c@d']
  let gateway: Gateway
  let key: string
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      const chat = byId(models, 'sandbox-chat')
      models.push(...IDS.map((id) => ({ ...chat, id, name: `named ${id}`, ownedBy: id.split('/')[0] })))
    })
    ;({ key } = await anAccount(gateway.db))
  })
  after(() => gateway.stop())

  const model = (path: string, by = key) => get(`${gateway.url}/v1/models/${path}`, by)

  it('answers the element of the list, with the slash of its id encoded or not', async () => {
    const { data } = (await get(`${gateway.url}/v1/models`, key)).json
    for (const id of ['sandbox-chat', 'sandbox-image', 'sized-video', ...IDS]) {
      const listed = byId(data, id)
      const encoded = encodeURIComponent(id)
      for (const path of [encoded, encoded.replaceAll('%2F', '/'), `${encoded}?beta=true`]) {
        const { status, json } = await model(path)
        expect([status, json], path).to.deep.equal([200, { ok: true, ...listed }])
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

  it('answers 400 with one sentence for a model that is not there, and for one that the key may not call', async () => {
    const account = await anAccount(gateway.db)
    await changeKey(gateway.db, account.keyId, { models: ['maker/chat'] })
    const hidden = ['none', 'disabled-image', 'unavailable-image', 'sandbox-chat', 'maker/none', 'maker/chat/', '%zz']
    const replies = await Promise.all(hidden.map((path) => model(path, account.key)))
    for (const { status, json } of replies) {
      expect([status, json.error.code]).to.deep.equal([400, 'unsupported_model'])
      expect(json.error.message).to.equal('There is no such model, or this key may not call it: see GET /v1/models.')
    }
    expect((await model('maker/chat', account.key)).status).to.equal(200)
  })

  it('answers HEAD like GET, without the model', async () => {
    const reply = await send('HEAD', `${gateway.url}/v1/models/maker/chat`, { key })
    expect([reply.status, reply.text]).to.deep.equal([200, ''])
  })
})

describe('GET /v1/models with anthropic-version', () => {
  const FORM = { 'anthropic-version': '2023-06-01' }
  let gateway: Gateway
  let key: string
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      const chat = byId(models, 'sandbox-chat')
      models.push(...Array.from({ length: 30 }, (_, nth) => ({ ...chat, id: `maker/chat-${nth}` })))
    })
    ;({ key } = await anAccount(gateway.db))
  })
  after(() => gateway.stop())

  const models = (query = '', headers: Record<string, string> = FORM) =>
    get(`${gateway.url}/v1/models${query}`, key, headers)

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
    const { json } = await get(`${gateway.url}/v1/calls/call_1`, key, FORM)
    expect([json.ok, json.error.code]).to.deep.equal([false, 'not_found'])
    const refused = await send('POST', `${gateway.url}/v1/models`, { key, headers: FORM })
    expect([refused.status, refused.json.error.code]).to.deep.equal([405, 'method_not_allowed'])
  })
})
