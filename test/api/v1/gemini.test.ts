import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { addDialects } from './support/responses.ts'

type Fields = Reply['json']

const said = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })

/** The objects of a stream of server-sent events, or of a list. */
const objectsIn = ({ text, json }: Reply): Fields[] =>
  (json as Fields[] | undefined) ?? [...text.matchAll(/^data: (.*)$/gm)].map(([, one]) => JSON.parse(one!) as Fields)

const wordsIn = (objects: Fields[]): string =>
  objects
    .flatMap(({ candidates }) => candidates[0].content.parts as Fields[])
    .map(({ text }) => text ?? '')
    .join('')

// What becomes of each field: test/workers/upstreams/cells.test.ts. Calls of functions: test/shared/chat/gemini.
// Google's own clients: test/clients/gemini.test.ts. Streams of all protocols: test/upstreams/complete-streams.test.ts.
describe("a chat in the dialect of Gemini's API", () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)

  const ask = (model: string, verb: string, body: object, headers: Record<string, string> = {}) =>
    account.post(`/v1beta/models/${model}:${verb}`, body, headers)

  for (const model of ['gemini', 'gpt'])
    describe(`by ${model}`, () => {
      it('is answered whole, with what it cost', async () => {
        const before = await account.balance()
        const generationConfig = { maxOutputTokens: 500 }
        const reply = await ask(model, 'generateContent', { ...said(prompted('[answer Good day]')), generationConfig })
        const { candidates, modelVersion, responseId, usageMetadata: usage } = reply.json
        expect(wordsIn([reply.json]), reply.text).to.equal('Good day')
        expect(candidates[0]).to.deep.nested.include({ 'content.role': 'model', finishReason: 'STOP', index: 0 })
        expect(modelVersion).to.equal(model)
        // An upstream of the same dialect has named its answer.
        expect(responseId).to.match(
          model === 'gemini' ? /^response_/ : new RegExp(`^${reply.headers.get('x-call-id')}$`),
        )
        const output = usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0)
        expect(usage.credits).to.equal(usage.promptTokenCount + 3 * output)
        expect(usage.totalTokenCount).to.equal(usage.promptTokenCount + output)
        expect([usage.balance, await account.balance()]).to.deep.equal([before - usage.credits, usage.balance])
        expect(reply.headers.get('x-max-output-tokens')).to.equal('500')
      })

      for (const alt of ['?alt=sse', ''])
        it(`streams the same answer, with its usage on the last object: ${alt || 'a list'}`, async () => {
          const reply = await ask(
            model,
            `streamGenerateContent${alt}`,
            said(prompted('[answer Good day to you] [tokens 4]')),
          )
          const objects = objectsIn(reply)
          expect(reply.headers.get('content-type')).to.match(alt ? /^text\/event-stream/ : /^application\/json/)
          expect(wordsIn(objects), reply.text).to.equal('Good day to you')
          const ends = objects.map(({ candidates, usageMetadata }) => [
            candidates[0].finishReason,
            usageMetadata?.credits,
          ])
          expect(ends.slice(0, -1)).to.deep.equal(ends.slice(0, -1).map(() => [undefined, undefined]))
          expect(ends.at(-1)![0]).to.equal('STOP')
          expect(ends.at(-1)![1]).to.be.above(0)
        })

      it('is refunded when its upstream fails, and says so in its own form, in mid-stream too', async () => {
        const before = await account.balance()
        const reply = await ask(model, 'generateContent', said(prompted('[status 500]')))
        expect(reply.status).to.equal(502)
        expect(reply.json.error).to.include({ code: 502, status: 'UNAVAILABLE' })
        expect(reply.json.error.details[0]).to.include({ reason: 'upstream_failed', domain: 'tollgate' })
        expect(reply.headers.get('x-should-retry')).to.equal('false')
        for (const alt of ['?alt=sse', '']) {
          const words = prompted('[error-after 2] [tokens 9]')
          const objects = objectsIn(await ask(model, `streamGenerateContent${alt}`, said(words)))
          expect(objects.at(-1).error).to.include({ status: 'UNAVAILABLE' })
        }
        expect(await account.balance()).to.equal(before)
      })

      it('is fetched and replayed in its dialect, and may be fetched later', async () => {
        const body = said(prompted('[answer once]'))
        const headers = { 'Idempotency-Key': prompted('key') }
        const first = await ask(model, 'generateContent', body, headers)
        const fetched = await account.get(`/v1/calls/${first.headers.get('x-call-id')}`)
        for (const { text } of [fetched, await ask(model, 'generateContent', body, headers)])
          expect(text).to.equal(first.text)
        const key = { 'Idempotency-Key': prompted('key') }
        await ask(model, 'streamGenerateContent?alt=sse', body, key)
        expect(wordsIn(objectsIn(await ask(model, 'streamGenerateContent?alt=sse', body, key)))).to.equal('once')
        const accepted = await ask(model, 'generateContent', body, { prefer: 'respond-async' })
        expect(accepted.status).to.equal(202)
        const later = await account.get(`/v1/calls/${accepted.headers.get('x-call-id')}?wait=30`)
        expect(wordsIn([later.json])).to.equal('once')
      })
    })

  it('is counted for nothing, in both forms of the request', async () => {
    const before = await account.balance()
    const counts = await Promise.all(
      [said('hello'), { generateContentRequest: { model: 'models/gpt', ...said('hello') } }].map(
        async (body) => (await ask('gpt', 'countTokens', body)).json.totalTokens as number,
      ),
    )
    expect(counts[0]).to.be.above(5)
    expect(counts[1]).to.equal(counts[0])
    expect(await account.balance()).to.equal(before)
  })

  it('has vectors in the form of its API, and their failures too', async () => {
    const model = 'sandbox-embedding'
    const content = { parts: [{ text: 'a lighthouse' }] }
    const one = await ask(model, 'embedContent', { model: `models/${model}`, content, outputDimensionality: 8 })
    expect(one.json.embedding.values, one.text).to.have.length(8)
    expect(one.json.usageMetadata).to.have.all.keys('promptTokenCount', 'credits', 'balance')
    const many = await ask(model, 'batchEmbedContents', { requests: [{ content }, { content }] })
    expect(many.json.embeddings, many.text).to.have.length(2)
    const failed = await ask(model, 'embedContent', { content: { parts: [{ text: prompted('[status 500]') }] } })
    expect(failed.json.error, failed.text).to.include({ code: 502, status: 'UNAVAILABLE' })
    const refused = await ask(model, 'embedContent', { content, taskType: 'RETRIEVAL_QUERY' })
    expect([refused.status, refused.json.error.status]).to.deep.equal([400, 'INVALID_ARGUMENT'])
  })

  it('knows its models by a key of Google’s clients alone below /v1, and in OpenAI’s form by any other', async () => {
    const google = { 'x-goog-api-key': account.key }
    const [ours, theirs] = ['/v1/models', '/v1beta/models'].map((path) => `${gateway.url}${path}`) as [string, string]
    const pages = await Promise.all([
      send('GET', ours, { headers: google }),
      send('GET', `${ours}?key=${account.key}`),
      send('GET', theirs, { key: account.key }),
      send('GET', `${theirs}?pageSize=1000`, { headers: google }),
    ])
    for (const { json } of pages) expect(json).to.deep.equal(pages[0]!.json)
    const chat = pages[0]!.json.models.find(({ name }: Fields) => name === 'models/gpt')
    expect(chat.supportedGenerationMethods).to.include('generateContent')
    for (const at of [`${ours}/gpt`, `${theirs}/gpt`]) {
      expect((await send('GET', at, { headers: google })).json).to.deep.equal(chat)
      const missing = await send('GET', `${at}-not`, { headers: google })
      expect([missing.status, missing.json.error.status]).to.deep.equal([404, 'NOT_FOUND'])
    }
    const page = await send('GET', `${theirs}?pageSize=1`, { headers: google })
    const next = await send('GET', `${theirs}?pageSize=1&pageToken=${page.json.nextPageToken}`, { headers: google })
    expect([...page.json.models, ...next.json.models]).to.deep.equal(pages[0]!.json.models.slice(0, 2))
    for (const key of [{ key: account.key }, { headers: { 'x-api-key': account.key } }])
      expect((await send('GET', ours, key)).json.object).to.equal('list')
  })

  it('takes a key where Google’s clients send it, and no two different ones', async () => {
    const other = await gateway.account(100)
    const path = '/models/gpt:generateContent'
    const google = { 'x-goog-api-key': account.key }
    const bearer = { authorization: `Bearer ${account.key}` }
    const statusOf = async (at: string, headers: Record<string, string> = {}) => {
      const { status, json } = await send('POST', `${gateway.url}${at}`, { body: said('[answer hi]'), headers })
      if (status === 401) expect(json.error.status).to.equal('UNAUTHENTICATED')
      return status
    }
    expect(await statusOf(`/v1beta${path}`, google)).to.equal(200)
    expect(await statusOf(`/v1beta${path}`, bearer)).to.equal(200)
    expect(await statusOf(`/v1beta${path}`, { ...bearer, ...google })).to.equal(200)
    expect(await statusOf(`/v1beta${path}?key=${account.key}`)).to.equal(200)
    expect(await statusOf(`/v1${path}`, google)).to.equal(200)
    expect(await statusOf(`/v1${path}?key=${account.key}`)).to.equal(200)
    expect(await statusOf(`/v1${path}`, bearer), 'a key for another API').to.equal(401)
    expect(await statusOf(`/v1beta${path}?key=${other.key}`, google)).to.equal(401)
    expect(await statusOf(`/v1${path}`, { ...google, authorization: `Bearer ${other.key}` })).to.equal(401)
    expect(await statusOf(`/v1beta${path}?key=${account.key}&key=${other.key}`)).to.equal(401)
    expect(await statusOf(`/v1beta${path}`)).to.equal(401)
    const elsewhere = await send('POST', `${gateway.url}/v1/chat/completions?key=${account.key}`, { body: {} })
    expect(elsewhere.status).to.equal(401)
  })

  it('is refused in Google’s words before any charge', async () => {
    // In JSON, next to a text: what is refused, by which name, and why.
    const refusals = `
{"foo":1} | foo | Unknown name "foo": Cannot find field
{"generationConfig":{"topQ":1}} | generationConfig.topQ | Unknown name "topQ" at 'generationConfig'
{"generationConfig":{"candidateCount":2}} | generationConfig.candidateCount | must be 1
{"cachedContent":"cachedContents/1"} | cachedContent | not available for this model
{"contents":[{"parts":[{"fileData":{"fileUri":"https://x.test/a.png"}}]}]} | fileData | not available
{"generationConfig":{"responseModalities":["IMAGE"]}} | generationConfig.responseModalities | price
{"contents":[{"role":"tool","parts":[]}]} | contents.0.role | valid role
{"contents":[]} | contents | must not be empty
{"contents":[{"parts":[{}]}]} | contents.0.parts.0 | must have one of`
    for (const row of refusals.trim().split('\n')) {
      const [body, param, message] = row.split(' | ') as [string, string, string]
      const { status, json, text } = await ask('gpt', 'generateContent', { ...said('x'), ...JSON.parse(body) })
      expect([status, json.error?.status], text).to.deep.equal([400, 'INVALID_ARGUMENT'])
      expect(json.error.message).to.include(message)
      expect(json.error.details[0].metadata.param).to.equal(param)
    }
    const unknown = await ask('none', 'generateContent', said('x'))
    expect([unknown.status, unknown.json.error.status]).to.deep.equal([404, 'NOT_FOUND'])
    const lost = await account.get('/v1beta/nothing')
    expect([lost.status, lost.json.error.status]).to.deep.equal([404, 'NOT_FOUND'])
    const poor = await gateway.account(1)
    const short = await poor.post('/v1beta/models/gpt:generateContent', said('x'))
    expect([short.status, short.json.error.status]).to.deep.equal([429, 'RESOURCE_EXHAUSTED'])
    expect(short.headers.get('x-should-retry')).to.equal('false')
  })

  it('is without the tools that its upstream would run, which are named, unless one is required', async () => {
    const tools = [{ googleSearch: {} }, { urlContext: {}, functionDeclarations: [{ name: 'look' }] }]
    const reply = await ask('gpt', 'generateContent', { ...said(prompted('[answer hi]')), tools })
    expect(reply.headers.get('x-tollgate-tools-dropped'), reply.text).to.equal('googleSearch, urlContext')
    const toolConfig = { functionCallingConfig: { mode: 'ANY' } }
    const forced = await ask('gpt', 'generateContent', { ...said('x'), tools: [{ google_search: {} }], toolConfig })
    expect(forced.status).to.equal(400)
  })
})
