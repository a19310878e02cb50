import { expect } from 'chai'
import fc from 'fast-check'
import { Agent, request } from 'undici'
import {
  CHAT,
  EMBEDDINGS,
  IMAGES,
  MODERATIONS,
  OPENAI_VIDEOS,
  RERANK,
  VIDEOS,
} from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import { PATIENCE_MS, until } from '../../../scripts/harness/until.ts'
import { inSoak, seed } from '../../crash/scale.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { useGateway } from '../../support/gateway.ts'
import { messageBodies } from '../../upstreams/support/message-bodies.ts'
import { responseBodies } from '../../upstreams/support/response-bodies.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, nasty, sendingOf, spoilt, spoiltWithin, word } from './support/random-requests.ts'
import { MODELS, addDialects } from './support/responses.ts'

/** How many requests are sent to each API, and how often each expected status is answered at least: few may miss it. */
const [REQUESTS, LEAST] = inSoak ? [3000, 10] : [200, 0]

const AT_ONCE = 40

/** Far more than thousands of requests can cost. */
const FUNDS = 100_000_000_000

/** An answer; `json` is what it is if it is an object. */
type Answered = {
  status: number
  text: string
  json: { error?: { type?: string; code?: string; param?: unknown } } | null
}

/** Requests of one API, the statuses that each may get and that some get, and another condition on an answer. */
type Api = {
  sending: fc.Arbitrary<Sending>
  allowed: readonly number[]
  expected: readonly number[]
  check?: (answered: Answered, about: string) => void
}

const RESOLUTIONS = ['16x16', '720p']
/** A text that is not empty. */
const text = word.map((one) => `${one} .`)
const prompt = mostly(text, nasty)
const resolution = fc.constantFrom(...RESOLUTIONS)
const role = mostly(fc.constantFrom('user', 'system'), word)
const message = mostly(fc.record({ role, content: mostly(word, nasty) }), nasty, 20)
const part = fc.record({ type: mostly(fc.constant('text'), nasty), text: prompt })
const model = (usual: string, odd: string) =>
  mostly(fc.constantFrom(...usual.split(' ')), fc.constantFrom(...odd.split(' ')))
const videoModel = mostly(fc.constantFrom('unavailable-video', 'disabled-image'), fc.constant('sandbox-video'), 4)
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 3 })
const upTo = (max: number) => mostly(fc.integer({ min: 1, max }), nasty)

/** The fields of each endpoint, the first two required. */
const FIELDS: Record<string, Record<string, fc.Arbitrary<unknown>>> = {
  [CHAT]: {
    model: model('sandbox-chat dear-chat fallback-chat', 'sandbox-image nothing'),
    messages: few(message),
    max_tokens: upTo(50),
    n: upTo(8),
    stream: fc.boolean(),
  },
  [IMAGES]: {
    model: model('sandbox-image fallback-image unavailable-image', 'disabled-image sandbox-chat'),
    prompt,
    resolution,
  },
  [VIDEOS]: { model: videoModel, prompt, resolution, duration: mostly(fc.constant(1), nasty) },
  [OPENAI_VIDEOS]: {
    model: videoModel,
    prompt,
    seconds: mostly(fc.constantFrom('1', 1), nasty),
    size: mostly(fc.constant('1280x720'), nasty),
    input_reference: mostly(fc.constant(null), fc.oneof(nasty, fc.record({ image_url: nasty }))),
  },
  [EMBEDDINGS]: {
    model: model('sandbox-embedding', 'sandbox-chat nothing'),
    input: mostly(fc.oneof(text, few(text)), nasty),
    encoding_format: mostly(fc.constantFrom('float', 'base64'), nasty),
    dimensions: upTo(50),
  },
  [MODERATIONS]: {
    input: mostly(fc.oneof(text, few(mostly(text, part))), nasty),
    model: model('sandbox-moderation', 'sandbox-rerank nothing'),
  },
  [RERANK]: {
    model: model('sandbox-rerank', 'sandbox-moderation nothing'),
    query: prompt,
    documents: mostly(few(prompt), nasty),
    top_n: upTo(5),
    return_documents: fc.boolean(),
  },
}
const bodyOf = (path: string): fc.Arbitrary<object> => {
  const fields = FIELDS[path] ?? FIELDS[CHAT]!
  return fc.record(fields, { requiredKeys: Object.keys(fields).slice(0, 2) })
}
const keys = (names: string): string[] => [...names.split(' '), '__proto__', 'constructor', 'toString', '', '\0']
const OF_CALLS = keys(
  'model messages prompt image_url resolution duration seconds size input_reference input_reference[image_url] ' +
    'max_tokens max_completion_tokens temperature n stream stream_options tools user response_format input query ' +
    'documents top_n encoding_format',
)
const OF_MESSAGES = keys(
  'model messages max_tokens system stop_sequences stream temperature thinking tool_choice tools metadata ' +
    'output_config cache_control context_management service_tier mcp_servers n',
)
const OF_RESPONSES = keys(
  'model input max_output_tokens instructions stream background store previous_response_id reasoning tool_choice ' +
    'tools metadata text include service_tier conversation n',
)
const pathOf = (paths: string) => fc.constantFrom(...paths.split(' '))
const ODD_PATHS = pathOf(
  '/v1/models /v1/calls/x /v1/calls/call_%00 /v1 /v1/chat//completions /v1/calls/%zz?wait=1&wait=2 ' +
    '/v1/images/generations/',
)
const MESSAGES_PATHS = pathOf('/v1/messages?beta=true /v1/messages/count_tokens /v1/messages/ /v1/messages/batches')
const RESPONSES_PATHS = pathOf('/v1/responses?x=1 /v1/responses/ /v1/responses/input_tokens')

const messages = spoiltWithin(messageBodies, model('claude gpt', 'nobody'))

/** Ids that are none of a response of this account, and what is no id. */
const ID = `resp_${'0'.repeat(32)}`
const ids = pathOf(`${ID} resp_ ${ID}0 call_${ID.slice(5)} %00 ..%2f %ff ${'a'.repeat(300)} __proto__`)
const referring = fc.tuple(responseBodies, ids, fc.nat(3)).map(([body, id, repeated]) => ({
  ...body,
  ...(repeated === 0
    ? { previous_response_id: id }
    : { input: Array.from({ length: repeated }, () => ({ type: 'item_reference', id: id.replace('resp_', 'msg_') })) }),
}))
const responses = spoiltWithin(mostly(responseBodies, referring), model(MODELS.join(' '), 'nobody'))
const ofResponse = fc.tuple(ids, fc.constantFrom('', '/cancel', '/input_items'))

/** What refuses a body of a response, and names the field. */
const OF_FIELDS = new Set(['invalid_request', 'previous_response_not_found'])

const EVERYWHERE = [200, 202, 400, 401, 402, 404, 405, 410, 413, 415, 417, 422, 429, 502]

const APIS: Record<string, Api> = {
  requests: {
    sending: mostly(
      fc.constantFrom(CHAT, CHAT, IMAGES, IMAGES, VIDEOS, OPENAI_VIDEOS, EMBEDDINGS, MODERATIONS, RERANK),
      ODD_PATHS,
    ).chain((path) => sendingOf(path, spoilt(bodyOf(path), OF_CALLS))),
    allowed: [...EVERYWHERE, 503],
    expected: [200, 202, 400, 401, 415, 503],
    check: ({ status, json }, about) => {
      if (status === 502) expect(json?.error?.type, about).to.equal('upstream_failed')
      if (status === 503) expect(json?.error?.type, about).to.equal('upstream_unavailable')
    },
  },
  messages: {
    sending: mostly(fc.constant('/v1/messages'), MESSAGES_PATHS, 6).chain((path) =>
      sendingOf(path, spoilt(messages, OF_MESSAGES)),
    ),
    allowed: [...EVERYWHERE, 409],
    expected: [200, 202, 400, 401, 404, 415],
  },
  responses: {
    sending: mostly(
      fc.constant('/v1/responses'),
      fc.oneof(
        RESPONSES_PATHS,
        ofResponse.map(([id, rest]) => `/v1/responses/${id}${rest}`),
      ),
      6,
    ).chain((path) => sendingOf(path, spoilt(responses, OF_RESPONSES))),
    allowed: [...EVERYWHERE, 409],
    expected: [200, 202, 400, 401, 404, 415],
    check: ({ status, json }, about) => {
      const { code, param } = json?.error ?? {}
      if (status === 400 && OF_FIELDS.has(String(code))) expect(param, about).to.be.a('string')
    },
  },
}

describe('random requests', () => {
  const gateway = useGateway({}, (catalogue) => {
    addDialects(catalogue)
    const upstreams = [{ upstream: 'unconfigured', model: 'video-sandbox' }]
    catalogue.models.push({ id: 'unavailable-video', modality: 'video', credits: 250, upstreams })
    for (const one of catalogue.models)
      if (one.modality === 'image' || one.modality === 'video') one.resolutions = RESOLUTIONS
  })

  /**
   * Sends a request until it is answered with anything but a refusal because Postgres or Redis took too long, as they
   * may on a busy machine: its client is charged nothing, and told to send it again.
   */
  const answerTo = (dispatcher: Agent, key: string, { method, path, headers, body }: Sending, about: string) =>
    until(`an answer to ${about}`, async (): Promise<Answered | false> => {
      const all = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers }
      const sent = { dispatcher, method: method as 'POST', body, headers: all }
      const answer = await request(`${gateway.url}${path}`, sent).catch((error: Error) => {
        throw new Error(`${error.message}: ${about}`)
      })
      const status = answer.statusCode
      const said = await answer.body.text()
      const json = (said.startsWith('{') ? JSON.parse(said) : null) as Answered['json']
      const isAway = json === null || !('ok' in json) || json.error?.type === 'service_unavailable'
      const isPutOff = status === 503 && isAway && /^\d+$/.test(String(answer.headers['retry-after']))
      return !isPutOff && { status, text: said, json }
    })

  for (const [what, { sending, allowed, expected, check }] of Object.entries(APIS))
    it(`are answered with their fault, and leave the books balanced and the process serving: ${what}`, async () => {
      const { id, key } = await gateway.account(FUNDS)
      const agent = new Agent({ connections: AT_ONCE, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS })
      const statuses = new Map<number, number>()
      const rest = fc.sample(sending, { numRuns: REQUESTS, seed })
      const client = async (): Promise<void> => {
        for (let next = rest.pop(); next; next = rest.pop()) {
          const content = next.body?.toString('latin1').slice(0, 500)
          const about = `seed ${seed}: ${next.method} ${next.path} ${JSON.stringify(next.headers)} ${content}`
          const answered = await answerTo(agent, key, next, about)
          statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1)
          expect(answered.status, `${answered.text} to ${about}`).to.be.oneOf([...allowed])
          check?.(answered, `${answered.text} to ${about}`)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, client))
      await agent.close()
      const got = JSON.stringify([...statuses])
      for (const status of expected) expect(statuses.get(status) ?? 0, `${status} of ${got}`).to.be.at.least(LEAST)
      await until('the end of every call', async () => (await outstandingOf(gateway.db, id)) === 0)
      expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
      // Every request is answered by a real gateway.
    }).timeout(60_000 + 30 * REQUESTS)
})
