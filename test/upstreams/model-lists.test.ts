import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect } from 'chai'
import { CHAT, callOf, countsOf, movementsOf, prompted, recordOf } from '../../scripts/harness/calling.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { changeKey } from '../../src/shared/identity/key-limits.ts'
import { useAccount, useFor, useGateway } from '../support/gateway.ts'
import { serve } from '../workers/fetching/servers.ts'
import { modelEntry } from './support/targets.ts'

type Fields = Record<string, unknown>

/** What the upstream of a model answers; `cut`: a stream that breaks after its first chunk. */
type Script = { status: number; error?: Fields; retryAfter?: string } | 'cut'

const TOO_LONG = { message: 'This is too long.', code: 'context_length_exceeded' }
const REFUSED = { message: 'This is not served.', code: 'content_policy_violation' }

/** What the first model's upstream answers, and whether the second one is asked then. */
const CASES: Record<string, { script: Script; goesOn: boolean; more?: Fields }> = {
  'has no key that works': { script: { status: 401, error: { message: 'x' } }, goesOn: true },
  'is limited for longer than a call waits': {
    script: { status: 429, error: { message: 'x' }, retryAfter: '30' },
    goesOn: true,
  },
  'asks to be left alone for long': {
    script: { status: 503, error: { message: 'x' }, retryAfter: '50' },
    goesOn: true,
  },
  'fails each time': { script: { status: 500, error: { message: 'x' } }, goesOn: true },
  'does not have the model': { script: { status: 404, error: { message: 'x' } }, goesOn: true },
  'finds the chat too long': { script: { status: 400, error: TOO_LONG }, goesOn: true },
  'refuses the content': { script: { status: 400, error: REFUSED }, goesOn: true },
  'fails before the first chunk': {
    script: { status: 401, error: { message: 'x' } },
    goesOn: true,
    more: { stream: true },
  },
  'finds a fault in the request': { script: { status: 400, error: { message: 'x' } }, goesOn: false },
  'breaks off after the first chunk': { script: 'cut', goesOn: false, more: { stream: true } },
}

/** Credits of a token of output; nothing for input. Answers have two. */
const priced = (output: number, more: Fields = {}) => ({
  pricing: { input: 0, output, perTokens: 1, minimum: 1 },
  ...more,
})

describe('a chat with a list of models', () => {
  const scripts = new Map<string, Script>()
  let asked: Fields[] = []

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const body = JSON.parse(text) as Fields
    asked.push(body)
    const script = scripts.get(String(body.model)) ?? { status: 200 }
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    const choice = (part: object, finish_reason: string | null) => ({ choices: [{ index: 0, ...part, finish_reason }] })
    if (script !== 'cut' && script.status !== 200) {
      response.writeHead(script.status, {
        'content-type': 'application/json',
        ...(script.retryAfter && { 'retry-after': script.retryAfter }),
      })
      response.end(JSON.stringify({ error: script.error }))
    } else if (body.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(choice({ delta: { content: 'ok' } }, null))}\n\n`)
      if (script === 'cut') return void setImmediate(() => response.destroy())
      response.end(`data: ${JSON.stringify({ ...choice({ delta: {} }, 'stop'), usage })}\n\ndata: [DONE]\n\n`)
    } else {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...choice({ message: { role: 'assistant', content: 'ok' } }, 'stop'), usage }))
    }
  }
  const server = useFor(
    () => serve((request, response) => void answer(request, response)),
    ({ close }) => close(),
  )
  // An upstream for each, so that what one test breaks is whole in the others.
  const FIRST = Object.keys(CASES).map((_what, at) => `first-${at}`)
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const add = (id: string, output: number, more?: Fields): void => {
      upstreams[id] = { protocol: 'openai', baseUrl: server.origin }
      models.push(modelEntry(id, 'chat', [{ upstream: id, model: id }], priced(output, more)))
    }
    for (const id of FIRST) add(id, 1)
    for (const id of ['plain', 'sooner', 'later']) add(id, 1)
    add('second', 3)
    add('third', 2, { maxOutputTokens: 5 })
    upstreams['missing'] = { protocol: 'openai', baseUrl: server.origin, apiKeyEnv: 'NOBODY_HAS_THIS' }
    models.push(modelEntry('unserved', 'chat', [{ upstream: 'missing', model: 'x' }], priced(1)))
  })
  const account = useAccount(gateway, 1000)
  beforeEach(() => {
    scripts.clear()
    asked = []
  })

  const ask = (fields: Fields, path = CHAT, headers: Record<string, string> = {}, of: TestAccount = account) =>
    post(
      `${gateway.url}${path}`,
      of.key,
      { messages: [{ role: 'user', content: prompted() }], max_tokens: 10, ...fields },
      headers,
    )
  const modelsAsked = (): string[] => [...new Set(asked.map(({ model }) => String(model)))]
  const toldOf = async (reply: Reply) => {
    const { model, requested, credits, creditsPrecharged } = await recordOf(gateway.db, reply)
    return { model, requested, credits, creditsPrecharged }
  }

  Object.entries(CASES).forEach(([what, { script, goesOn, more }], at) => {
    it(`${goesOn ? 'goes on' : 'does not go on'} where an upstream ${what}`, async () => {
      const first = FIRST[at]!
      scripts.set(first, script)
      const reply = await ask({ model: first, models: [first, 'second'], ...more })
      expect(modelsAsked()).to.deep.equal(goesOn ? [first, 'second'] : [first])
      const told = await toldOf(reply)
      const model = goesOn ? 'second' : first
      expect(told, reply.text).to.deep.equal({
        model,
        requested: first,
        credits: goesOn ? 6 : 0,
        creditsPrecharged: 30,
      })
      if (goesOn) expect(reply.text).to.include('"model":"second"')
      for (const body of asked) expect(body).to.not.have.property('models')
    })
  })

  it('is held at its dearest model, and settled at the one that answers', async () => {
    const reply = await ask({ models: ['plain', 'second', 'plain'] })
    expect([reply.status, reply.json.model]).to.deep.equal([200, 'plain'])
    expect(await toldOf(reply)).to.deep.equal({ model: 'plain', requested: 'plain', credits: 2, creditsPrecharged: 30 })
    expect(await movementsOf(gateway.db, reply)).to.deep.equal(['charge -30', 'settlement 28'])
    const body = { models: ['plain', 'second'], max_tokens: 10, messages: [{ role: 'user', content: 'x' }] }
    const quoted = await post(`${gateway.url}/v1/quotes`, account.key, { endpoint: CHAT, body })
    expect(quoted.json).to.include({ model: 'plain', credits: 30, minimum: 1, maximum: 30 })
    const guarded = await ask({ models: ['plain', 'second'] }, CHAT, { 'X-Max-Credits': '29' })
    expect(guarded.json.error).to.include({ code: 'price_above_limit' })
  })

  it('goes over models without an upstream, and is asked of each within its own limit of output', async () => {
    const reply = await ask({ models: ['unserved', 'third'] })
    expect(await toldOf(reply)).to.include({ model: 'third', requested: 'unserved', credits: 4 })
    expect(asked.map(({ max_tokens }) => max_tokens)).to.deep.equal([5])
  })

  it('is listed by `fallbacks` in Messages and `models` in Responses, and answered by its name', async () => {
    const message = await ask({ model: 'unserved', fallbacks: [{ model: 'second' }] }, '/v1/messages')
    expect([message.status, message.json.model], message.text).to.deep.equal([200, 'second'])
    const input = { messages: undefined, max_tokens: undefined, input: 'x', max_output_tokens: 16 }
    const response = await ask({ ...input, models: ['unserved', 'second'] }, '/v1/responses')
    expect([response.status, response.json.model], response.text).to.deep.equal([200, 'second'])
    for (const reply of [message, response]) expect((await toldOf(reply)).requested).to.equal('unserved')
  })

  it('is remembered as a session of the model that answered', async () => {
    const headers = { 'X-Session-Id': 'listed' }
    const uses = [
      await ask({ models: ['unserved', 'second'] }, CHAT, headers),
      await ask({ model: 'second' }, CHAT, headers),
      await ask({ model: 'plain' }, CHAT, headers),
    ].map((reply) => reply.headers.get('x-tollgate-session'))
    expect(uses).to.deep.equal(['new', 'hit', 'new'])
  })

  it('names the end of the first limit where each of its models has met one', async () => {
    for (const [model, retryAfter] of [
      ['sooner', '20'],
      ['later', '40'],
    ] as const)
      scripts.set(model, { status: 429, retryAfter })
    const reply = await ask({ models: ['sooner', 'later'] })
    expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([503, 'upstream_unavailable'])
    expect(Number(reply.headers.get('retry-after'))).to.be.within(15, 20)
  })

  it('fails as its last model does, costs nothing, and has its tries at all of them', async () => {
    scripts.set('plain', { status: 400, error: TOO_LONG })
    scripts.set('second', { status: 400, error: REFUSED })
    const reply = await ask({ models: ['plain', 'second'] })
    expect(reply.json.error).to.include({ type: 'content_policy' })
    expect(await toldOf(reply)).to.deep.equal({
      model: 'second',
      requested: 'plain',
      credits: 0,
      creditsPrecharged: 30,
    })
    const stored = await gateway
      .db('call_tries')
      .where({ call_id: callOf(reply) })
      .first<{ tries: Fields[] }>('tries')
    expect(stored.tries.map(({ upstream }) => upstream)).to.deep.equal(['plain', 'second'])
  })

  it('is refused before the charge where its list is not valid, which names the field and the model', async () => {
    const limited = await gateway.account(1000)
    await changeKey(gateway.db, limited.keyId, { models: ['plain'] })
    const refused = async (fields: Fields, path = CHAT, of = account): Promise<string> => {
      const { status, json } = await ask(fields, path, {}, of)
      expect(status, JSON.stringify(fields)).to.equal(400)
      return String(json.error.message)
    }
    const FAULTS: [begins: string, fields: Fields, path?: string][] = [
      ['models must have at least 2', { model: 'plain', models: ['plain'] }],
      ['models must have at most 4', { models: ['plain', 'second', 'third', 'unserved', 'first-0'] }],
      ['models must be a list', { model: 'plain', models: 'second' }],
      ['models[1] must be a string', { models: ['plain', 7] }],
      ['models[0] names the model "nothing"', { models: ['nothing', 'plain'] }],
      ['models[1] names the model "nothing"', { models: ['plain', 'nothing'] }],
      ['model must be the first of models', { model: 'plain', models: ['second', 'plain'] }],
      ['fallbacks must not be empty', { model: 'plain', fallbacks: [] }, '/v1/messages'],
      ['fallbacks[0].max_tokens', { model: 'plain', fallbacks: [{ model: 'second', max_tokens: 1 }] }, '/v1/messages'],
      [
        'fallbacks[0].model names the model "nothing"',
        { model: 'plain', fallbacks: [{ model: 'nothing' }] },
        '/v1/messages',
      ],
      ['model names the model "nothing"', { model: 'nothing', fallbacks: [{ model: 'plain' }] }, '/v1/messages'],
    ]
    for (const [begins, fields, path] of FAULTS) expect(await refused(fields, path)).to.include(begins)
    for (const models of [
      ['second', 'plain'],
      ['plain', 'second'],
    ])
      expect(await refused({ models }, CHAT, limited)).to.include(`models[${models.indexOf('second')}] names the model`)
    for (const one of [account, limited]) expect(await countsOf(gateway.db, one)).to.include({ charged: 0 })
    expect(asked).to.deep.equal([])
  })
})
