import { expect } from 'chai'
import OpenAI from 'openai'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get, post } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, callOf, chatBody } from '../../scripts/harness/calling.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import type { Recorded } from './support/recorded.ts'
import { startRecorded } from './support/recorded.ts'

/** A credit a token of input, 3 a token of output. */
const PRICING = { input: 10, cachedInput: 1, cacheWrite: 12, output: 30, perTokens: 10, minimum: 1 }
const FUNDS = 50_000
const TEXT = 'The quick brown fox jumps over the lazy dog and runs away into the deep green wood.'

/** How a case is asked: streamed, whole, or whole with so many tokens that the worker reads a stream. */
type Way = 'S' | 'W' | 'R'
const ASKED: Record<Way, object> = {
  S: { max_tokens: 100, stream: true },
  W: { max_tokens: 100 },
  R: { max_tokens: 4000 },
}

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const said = { content: TEXT }
const ping = { tool_calls: [call('call_1', 'ping', '{}')] }
const weather = { tool_calls: [call('call_1', 'get_weather', '{"city":"Paris"}')] }
const claudePing = { tool_calls: [call('toolu_1', 'ping', '{}')] }
const thought = {
  type: 'reasoning.text',
  text: 'Let me think.',
  signature: 'SIG==',
  format: 'anthropic-claude-v1',
  index: 0,
}
const redacted = { type: 'reasoning.encrypted', data: 'REDACTED', format: 'anthropic-claude-v1', index: 1 }

/** What the message has that clients get, and the credits. Where a stream and a whole answer count otherwise, both. */
const GOOD: [names: string, ways: string, message: object, credits: number | [streamed: number, whole: number]][] = [
  ['default', 'SRW', said, [62, 32]],
  ['message-beside-delta message-full-beside-delta', 'SR', said, 62],
  ['sse-empty-data sse-keepalive-word sse-done-space sse-done-newline-json sse-done-quoted', 'SR', said, 62],
  ['sse-ping sse-crlf sse-bom sse-nodone', 'SR', said, 62],
  ['sse-broken-json-event', 'SR', said, 62],
  ['sse-one-bad-byte', 'SR', { content: TEXT.replace('lazy', 'lazy\ufffd') }, 62],
  // Its output is what was reported behind [DONE], its input more than there can be.
  ['usage-after-done', 'S', said, 91],
  ['azure-filter', 'S', { content: 'The quick brown fox' }, 23],
  ['content-null', 'SW', { content: null }, [11, 32]],
  ['sse-bytes', 'SR', { content: 'Grüße 🌍 你好' }, 62],
  ['reset-after-finish reset-after-done', 'SR', said, 62],
  ['hang-after-finish', 'S', said, 62],
  ['ct-json-sse ct-none-sse ids-missing ids-null', 'SR', said, 62],
  ['ct-sse-for-whole', 'W', said, 62],
  ['ids-missing', 'W', said, 32],
  ['gzip error-empty-object', 'SW', said, [62, 32]],
  ['magistral', 'SR', { content: 'The answer is 42.', reasoning_content: 'Let me think.' }, 62],
  ['parts-stream', 'SR', { content: 'Hello big world' }, 62],
  ['function-call', 'SR', { function_call: { name: 'get_weather', arguments: '{"city":"Paris"}' } }, 62],
  [
    'tools-index0',
    'SR',
    {
      tool_calls: [
        call('call_1', 'get_weather', '{"city":"Paris"}'),
        call('call_2', 'get_weather', '{"city":"Rome"}'),
        call('call_3', 'get_time', '{"tz":"UTC"}'),
      ],
    },
    62,
  ],
  ['tools-empty-id tools-null-fields', 'SR', weather, 62],
  ['tools-no-args', 'SR', ping, 62],
  ['a-ok', 'SRW', said, 62],
  ['a-no-event-lines', 'SR', said, 62],
  ['a-tool-noargs', 'SRW', claudePing, 62],
  ['a-thinking', 'SR', { reasoning_content: 'Let me think.', reasoning_details: [thought] }, 62],
  ['a-thinking', 'W', { content: 'Checking.', reasoning_details: [thought, redacted] }, 62],
]

/** Failures that are refunded: how often the upstream is asked, and what it has billed, in micro-dollars. */
const BAD: [name: string, way: Way, tries: number, cost?: [least: number, most: number]][] = [
  ['or-choice-error', 'S', 1, [12, 15]],
  ['or-choice-error', 'W', 2, [12, 30]],
  ['finish-error-only', 'S', 1, [12, 15]],
  ['event-error', 'S', 1],
  ['event-error', 'R', 2],
  ['vllm-object-error', 'S', 1],
  ['vllm-object-error', 'R', 2],
  ['error-text-data', 'S', 1],
  ['or-top-error', 'S', 1],
  ['close-mid', 'S', 1],
  ['error-200-string', 'W', 2],
  ['a-error-event', 'S', 1],
  ['gzip-error', 'W', 1],
  ['429-moonshot', 'W', 1],
  ['429-zhipu', 'W', 1],
  ['402', 'W', 1],
]

/** Upstreams that serve nobody before their operator has mended it. */
const NOT_SERVED = ['401', '402', '404-model', '429-openai-quota', '429-moonshot', '429-zhipu', 'gzip-error']

describe('what upstreams answer', function () {
  let gateway: Gateway
  let upstream: Recorded

  before(async () => {
    upstream = await startRecorded()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      upstreams.mock = { protocol: 'openai', baseUrl: `${upstream.origin}/v1` }
      upstreams.second = { protocol: 'openai', baseUrl: `${upstream.origin}/b/v1` }
      upstreams.ant = { protocol: 'anthropic', baseUrl: upstream.origin }
      upstreams.fal = { protocol: 'fal', baseUrl: `${upstream.origin}/fal` }
      const chat = (id: string, ...ats: string[]) => ({
        id,
        modality: 'chat',
        maxOutputTokens: 8000,
        pricing: PRICING,
        upstreams: ats.map((at) => ({
          upstream: at,
          model: 'up',
          allow: at === 'ant' ? ['thinking'] : [],
          cost: { input: 500, output: 1500, perTokens: 1000 },
        })),
      })
      const media = { credits: 250, timeoutSeconds: 60, durations: { min: 1, max: 10, default: 4 } }
      models.push(chat('chat', 'mock'), chat('chat-two', 'mock', 'second'), chat('claude', 'ant'))
      for (const name of NOT_SERVED) {
        upstreams[`first-${name}`] = { protocol: 'openai', baseUrl: `${upstream.origin}/v1` }
        models.push(chat(`two-${name}`, `first-${name}`, 'second'))
      }
      models.push({ id: 'image', modality: 'image', credits: 40, upstreams: [{ upstream: 'mock', model: 'up' }] })
      models.push({ id: 'video', modality: 'video', ...media, upstreams: [{ upstream: 'mock', model: 'up' }] })
      models.push({ id: 'video-fal', modality: 'video', ...media, upstreams: [{ upstream: 'fal', model: 'fal-ai/x' }] })
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const ask = ({ key }: TestAccount, name: string, way: Way, model?: string) => {
    const body = chatBody(`Hello [case ${name}]`, { model: model ?? modelOf(name), ...ASKED[way] })
    return post(`${gateway.url}${CHAT}`, key, body)
  }
  const modelOf = (name: string): string => (name.startsWith('a-') ? 'claude' : 'chat')
  const storedAnswer = async (reply: Reply, { key }: TestAccount) =>
    (await get(`${gateway.url}/v1/calls/${publicId('call', callOf(reply))}`, key)).json

  /** The answer of a stream as the official SDK puts it together, which throws at chunks of a wrong form. */
  async function streamedMessage({ key }: TestAccount, name: string) {
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: `Hello [case ${name}]` }]
    const stream = client.chat.completions.stream({ model: modelOf(name), messages, max_tokens: 100 })
    return (await stream.finalChatCompletion()).choices[0]!.message
  }

  for (const [names, ways, message, credits] of GOOD) {
    for (const name of names.split(' ')) {
      for (const way of ways as Iterable<Way>) {
        it(`is read as it was meant: ${name}, ${way}`, async () => {
          const account = await anAccount(gateway.db, FUNDS)
          const asked = upstream.seen(name).length
          const reply = await ask(account, name, way)
          expect(reply.status, reply.text).to.equal(200)
          expect(upstream.seen(name).length - asked).to.equal(1)
          const stored = await storedAnswer(reply, account)
          expect(stored.choices[0].message).to.deep.include({ role: 'assistant', ...message })
          const [streamed, whole] = typeof credits === 'number' ? [credits, credits] : credits
          const price = way === 'W' ? whole : streamed
          expect(stored.usage).to.include({ credits: price })
          expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - price)
          if (way !== 'S') return expect(reply.json).to.deep.equal(stored)
          expectSound(reply)
          const { content, tool_calls: calls, function_call: called } = stored.choices[0].message
          const read = await streamedMessage(account, name)
          expect(read.content ?? '').to.equal(content ?? '')
          expect(
            (read.tool_calls ?? []).map(({ id, type, ...one }) => [id, type, 'function' in one && one.function.name]),
          ).to.deep.equal((calls ?? []).map((one: Call) => [one.id, one.type, one.function.name]))
          expect(read.function_call ?? null).to.deep.equal(called ?? null)
        })
      }
    }
  }

  type Call = { id: string; type: string; function: { name: string; arguments: string } }

  /** What every client may expect of chunks. */
  function expectSound({ text }: Reply): void {
    const chunks = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1)
    expect(new Set(chunks.map(({ created }) => created)).size).to.be.at.most(2)
    const choices = chunks.flatMap((chunk) => chunk.choices)
    expect(choices.every(({ index }) => index === 0)).to.equal(true)
    const roles = choices.flatMap(({ delta }) => (delta.role === undefined ? [] : [delta.role]))
    expect([choices[0].delta.role, roles.length]).to.deep.equal(['assistant', 1])
    expect(text).to.match(/data: \[DONE\]\n\n$/)
    expect(text).not.to.contain('"error"')
  }

  for (const [name, way, tries, cost] of BAD) {
    it(`is refunded where it failed: ${name}, ${way}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const asked = upstream.seen(name).length
      const reply = await ask(account, name, way)
      if (reply.status === 200) expect(reply.text).to.contain('"error"').and.not.to.contain('[DONE]')
      else expect(reply.status).to.equal(502)
      expect(upstream.seen(name).length - asked).to.equal(tries)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      if (!cost) return
      const row = await gateway
        .db('calls')
        .where({ id: callOf(reply) })
        .first()
      expect(row.cost_micro_usd).to.be.within(...cost)
    })
  }

  for (const name of NOT_SERVED) {
    it(`is asked of the next upstream where this one does not serve: ${name}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const asked = upstream.seen(name).length
      const reply = await ask(account, name, 'W', `two-${name}`)
      expect(reply.json.choices[0].message.content).to.equal(TEXT)
      expect(
        upstream
          .seen(name)
          .slice(asked)
          .map(({ path }) => path),
      ).to.deep.equal(['/v1/chat/completions', '/b/v1/chat/completions'])
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 32)
    })
  }

  for (const name of ['role-then-error', 'error-first']) {
    it(`rules out no other upstream while it says nothing: ${name}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const reply = await ask(account, name, 'S', 'chat-two')
      expectSound(reply)
      expect((await storedAnswer(reply, account)).choices[0].message.content).to.equal(TEXT)
    })
  }

  it('is said in our words where the request is too long, or its content not served', async () => {
    const account = await anAccount(gateway.db, FUNDS)
    const long = await ask(account, '400-context', 'W')
    expect([long.status, long.json.error.type]).to.deep.equal([400, 'context_length_exceeded'])
    const body = { model: 'image', prompt: 'x [case img-400-policy]' }
    const refused = await post(`${gateway.url}${IMAGES}`, account.key, body)
    expect(refused.status).to.equal(400)
    expect(refused.json.error).to.include({ type: 'content_policy', code: 'content_policy_violation' })
    expect(`${long.text}${refused.text}`).not.to.match(/too many tokens|safety system/)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  for (const name of ['img-b64', 'img-url-emptyb64', 'img-url-nullb64', 'img-datauri', 'img-images']) {
    it(`is the picture, in whichever field it stands: ${name}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const reply = await post(`${gateway.url}${IMAGES}`, account.key, { model: 'image', prompt: `x [case ${name}]` })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.data[0].url).to.match(/\.png$/)
      expect(upstream.seen(name).filter(({ method }) => method === 'POST')).to.have.length(1)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 40)
    })
  }

  const DELIVERED =
    'v-ok v-poll-401-once v-content-404-once v-content-400-once v-content-403-once v-content-206 v-made-gzip ' +
    'v-status-succeeded v-status-SUCCESS v-status-COMPLETED f-ok f-no-cancel'
  for (const name of DELIVERED.split(' ')) {
    it(`is the video, though it comes late or by another name: ${name}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const reply = await video(account, name)
      expect(reply.status, reply.text).to.equal(200)
      expect(upstream.seen(name).filter(({ step }) => step === 'submit')).to.have.length(1)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 250)
    })
  }

  for (const name of ['v-status-FAILURE', 'v-status-error', 'v-status-canceled', 'v-error-no-status', 'f-other-host']) {
    it(`is refunded at once where the task has failed: ${name}`, async () => {
      const account = await anAccount(gateway.db, FUNDS)
      const startedAt = performance.now()
      expect((await video(account, name)).status).to.equal(502)
      expect(performance.now() - startedAt).to.be.below(30_000)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  }

  const video = ({ key }: TestAccount, name: string) => {
    const model = name.startsWith('f-') ? 'video-fal' : 'video'
    return post(`${gateway.url}${VIDEOS}`, key, { model, prompt: `x [case ${name}]` })
  }
})
