import { expect } from 'chai'
import { anAccount, balanceOf, debtOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get, post, send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, callOf, chatBody, recordOf } from '../../scripts/harness/calling.ts'
import { eventually } from '../../scripts/harness/until.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { changeKey } from '../../src/shared/identity/key-limits.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { readExposition, valueOf } from '../support/exposition.ts'
import { TEXT } from './recorded/answers.ts'
import type { Recorded } from './recorded/upstream.ts'
import { startRecorded } from './recorded/upstream.ts'

/** A credit a token of input, a tenth if it was cached, 1.2 if it was written to a cache, 3 a token of output. */
const PRICING = { input: 10, cachedInput: 1, cacheWrite: 12, output: 30, perTokens: 10, minimum: 1 }
/** Micro-dollars. */
const OPENAI_COST = { input: 500, cachedInput: 50, output: 1500, perTokens: 1000 }
const ANTHROPIC_COST = { input: 3000, cachedInput: 300, cacheWrite: 3750, output: 15_000, perTokens: 1000 }
/** Of a video: seconds, and micro-dollars a second. */
const [SECONDS, PER_SECOND] = [4, 20_000]
const FUNDS = 50_000
/** How long the call of a video whose file never comes may take, in seconds. */
const HASTY_SECONDS = 8

/** How a case is asked: streamed, whole, or whole with so many tokens that the worker reads a stream. */
type Way = 'S' | 'W' | 'R'
const ASKED: Record<Way, object> = {
  S: { max_tokens: 100, stream: true },
  W: { max_tokens: 100 },
  R: { max_tokens: 4000 },
}

type Counts = { input: number; output: number; cached?: number; written?: number }

/**
 * What is charged and what it costs, of answers of each kind; test/workers/calls/recorded-answers.test.ts reads them
 * all. The request of those with caches has the 12,000 bytes that make thousands of tokens possible.
 */
const BILLED: [name: string, way: Way, counts: Counts, credits: number, cost: number][] = [
  ['openai-default', 'S', { input: 11, output: 17 }, 62, 31],
  ['openai-default', 'R', { input: 11, output: 17 }, 62, 31],
  ['openai-default', 'W', { input: 11, output: 7 }, 32, 16],
  ['anthropic-thinking', 'S', { input: 11, output: 17 }, 62, 288],
  ['openai-usage-prompt-without-cache', 'S', { input: 100, cached: 5000, output: 17 }, 651, 326],
  ['openrouter-usage-cache', 'W', { input: 100, cached: 400, written: 1500, output: 17 }, 1991, 846],
  ['anthropic-delta-zero', 'S', { input: 1000, cached: 5000, written: 300, output: 17 }, 1911, 5880],
]

/** Videos that are delivered, though they come late or by another name, and tasks that have failed. */
const DELIVERED =
  'ok poll-401-once content-404-once content-400-once content-403-once content-206 made-gzip status-succeeded ' +
  'status-SUCCESS status-COMPLETED'
const FAILED = 'status-FAILURE status-error status-canceled error-no-status'
const namesOf = (openai: string, ...fal: string[]): string[] => [
  ...openai.split(' ').map((name) => `openai-video-${name}`),
  ...fal.map((name) => `fal-video-${name}`),
]

type Asked = { reply: Reply; account: TestAccount }

describe('what upstreams answer', () => {
  let gateway: Gateway
  let upstream: Recorded
  let workerUrl: string
  /** They take more than 15 s each, while everything else runs. */
  let slow: Record<'openai-slow-long' | 'openai-late' | 'openai-silent' | 'openai-image-slow', Promise<Asked>>

  before(async () => {
    upstream = await startRecorded()
    const port = await freePort()
    workerUrl = `http://127.0.0.1:${port}`
    gateway = await startGateway({ METRICS_TOKEN: 'a-token', HEALTH_PORT: String(port) }, ({ upstreams, models }) => {
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
          ...(at === 'ant' ? { allow: ['thinking'], cost: ANTHROPIC_COST } : { cost: OPENAI_COST }),
        })),
      })
      const video = (id: string, at: string, timeoutSeconds = 60) => ({
        id,
        modality: 'video',
        credits: 250,
        timeoutSeconds,
        durations: { min: 1, max: 10, default: SECONDS },
        upstreams: [{ upstream: at, model: 'fal-ai/x', cost: { perSecond: PER_SECOND } }],
      })
      models.push(chat('chat', 'mock'), chat('chat-two', 'mock', 'second'), chat('claude', 'ant'))
      const at = [{ upstream: 'mock', model: 'up', cost: { perCall: 25_000 } }]
      models.push({ id: 'image', modality: 'image', credits: 40, upstreams: at })
      models.push(video('video', 'mock'), video('video-fal', 'fal'), video('hasty-video', 'mock', HASTY_SECONDS))
    })
    const streamed = { body: { stream: true } }
    slow = {
      'openai-slow-long': ask('openai-slow-long', streamed),
      'openai-late': ask('openai-late', streamed),
      'openai-silent': ask('openai-silent', streamed),
      'openai-image-slow': ask('openai-image-slow', { path: IMAGES, headers: { accept: 'text/event-stream' } }),
    }
  })
  after(async () => {
    await Promise.allSettled(Object.values(slow))
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
    await upstream.close()
  })

  type Asking = { path?: string; model?: string; body?: object; headers?: Record<string, string>; more?: string }

  /** Asks for an answer, with an account of its own where none is named. */
  async function ask(name: string, asking: Asking = {}, own?: TestAccount): Promise<Asked> {
    const { path = CHAT, body = {}, headers = {}, more = '' } = asking
    const account = own ?? (await anAccount(gateway.db, FUNDS))
    const chat = name.startsWith('anthropic-') ? 'claude' : 'chat'
    const video = name.startsWith('fal-') ? 'video-fal' : 'video'
    const model = asking.model ?? { [CHAT]: chat, [IMAGES]: 'image', [VIDEOS]: video }[path]
    const prompt = `Hello [case ${name}]${more}`
    const sent = path === CHAT ? chatBody(prompt, { model, max_tokens: 100, ...body }) : { model, prompt, ...body }
    return { reply: await post(`${gateway.url}${path}`, account.key, sent, headers), account }
  }

  const storedAnswer = async ({ reply, account: { key } }: Asked) =>
    (await get(`${gateway.url}/v1/calls/${publicId('call', callOf(reply))}`, key)).json
  const rowOf = (reply: Reply) =>
    gateway
      .db('calls')
      .where({ id: callOf(reply) })
      .first()
  const paidBy = async ({ account }: Asked): Promise<number> => FUNDS - (await balanceOf(gateway.db, account.id))
  const submissionsOf = (name: string): number => upstream.seen(name).filter(({ method }) => method === 'POST').length

  /** The usage that a client was told, whole or streamed. */
  const toldIn = ({ text }: Reply): Record<string, unknown> =>
    text.startsWith('{')
      ? JSON.parse(text).usage
      : text
          .split('\n\n')
          .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)).usage] : []))
          .findLast((usage) => usage !== undefined)

  for (const [name, way, { input: fresh, output, cached = 0, written = 0 }, credits, cost] of BILLED) {
    it(`is billed, told and recorded as far as it can be true: ${name}, ${way}`, async () => {
      const before = submissionsOf(name)
      const asked = await ask(name, { body: ASKED[way], more: cached > 0 ? ' and'.repeat(3000) : '' })
      const { reply } = asked
      expect(reply.status, reply.text).to.equal(200)
      expect(submissionsOf(name) - before).to.equal(1)
      const input = fresh + cached + written
      const told = toldIn(reply)
      expect(told).to.include({
        input_tokens: input,
        prompt_tokens: input,
        output_tokens: output,
        completion_tokens: output,
        total_tokens: input + output,
        credits,
        balance: FUNDS - credits,
      })
      const parts = { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) }
      if (told.prompt_tokens_details !== undefined) expect(told.prompt_tokens_details).to.deep.equal(parts)
      else expect(cached + written).to.equal(0)
      // Nothing that an upstream wrote there itself.
      expect(Object.keys(told).filter((field) => /cache|hit|miss/.test(field))).to.deep.equal([])

      const stored = await storedAnswer(asked)
      expect(stored.usage).to.deep.equal(told)
      if (way === 'S') expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
      else expect(reply.json).to.deep.equal(stored)
      expect(await paidBy(asked)).to.equal(credits)
      expect(await recordOf(gateway.db, reply)).to.include({ inputTokens: input, outputTokens: output, credits })
      const row = { cost_micro_usd: cost, cached_input_tokens: cached, cache_write_tokens: written }
      expect(await rowOf(reply)).to.include(row)
    })
  }

  it("passes neither a key's budget nor X-Max-Credits by more than the charge, and leaves no debt", async () => {
    const account = await anAccount(gateway.db, 1000)
    await changeKey(gateway.db, account.keyId, { budget: { credits: 400, period: 'total' } })
    for (const name of ['openai-usage-total-strange', 'openai-usage-prompt-huge', 'anthropic-usage-huge']) {
      const { reply } = await ask(name, { headers: { 'x-max-credits': '400' } }, account)
      expect(reply.status, reply.text).to.be.oneOf([200, 402])
      if (reply.status === 200) expect(toldIn(reply).credits).to.be.at.most(2 * 400)
    }
    expect(await debtOf(gateway.db, account.id)).to.equal(0)
    expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - 184)
  })

  it('is counted for the operator where it cannot be true', async () => {
    const refused = async (count: string): Promise<number> => {
      const { text } = await send('GET', `${workerUrl}/metrics`, { headers: { authorization: 'Bearer a-token' } })
      return valueOf(readExposition(text), 'tollgate_usage_not_believed_total', { upstream: 'mock', count }) ?? 0
    }
    const both = async () => [await refused('input'), await refused('output')]
    const before = await both()
    for (const name of ['usage-prompt-huge', 'usage-total-strange', 'default', 'usage-zero'])
      await ask(`openai-${name}`)
    await eventually(async () => void expect(await both()).to.deep.equal(before.map((count) => count + 1)))
  })

  for (const name of ['openai-role-then-error', 'openai-error-first']) {
    it(`rules out no other upstream while it says nothing: ${name}`, async () => {
      const asked = await ask(name, { model: 'chat-two', body: ASKED.S })
      expect(asked.reply.text).to.match(/data: \[DONE\]\n\n$/)
      expect(asked.reply.text.match(/"role":"assistant"/g)).to.have.length(1)
      expect((await storedAnswer(asked)).choices[0].message.content).to.equal(TEXT)
    })
  }

  it('is said in our words where the request is too long, or its content not served', async () => {
    const long = await ask('openai-context-too-long')
    expect([long.reply.status, long.reply.json.error.type]).to.deep.equal([400, 'context_length_exceeded'])
    const refused = await ask('openai-image-400-policy', { path: IMAGES })
    expect(refused.reply.status).to.equal(400)
    expect(refused.reply.json.error).to.include({ type: 'content_policy', code: 'content_policy_violation' })
    expect(`${long.reply.text}${refused.reply.text}`).not.to.match(/too many tokens|safety system/)
    expect([await paidBy(long), await paidBy(refused)]).to.deep.equal([0, 0])
  })

  it('is the video, though it comes late or by another name', () =>
    Promise.all(
      namesOf(DELIVERED, 'ok', 'no-cancel').map(async (name) => {
        const asked = await ask(name, { path: VIDEOS })
        expect(asked.reply.status, `${name}: ${asked.reply.text}`).to.equal(200)
        expect(upstream.seen(name).filter(({ step }) => step === 'submit')).to.have.length(1)
        expect(await paidBy(asked), name).to.equal(250)
      }),
    ))

  it('is refunded at once where the task has failed', async () => {
    const startedAt = performance.now()
    await Promise.all(
      namesOf(FAILED, 'other-host').map(async (name) => {
        const asked = await ask(name, { path: VIDEOS })
        expect([asked.reply.status, await paidBy(asked)], name).to.deep.equal([502, 0])
      }),
    )
    expect(performance.now() - startedAt).to.be.below(30_000)
  })

  it('is refunded at the deadline where the file of a finished video never comes', async () => {
    const name = 'openai-video-content-404-always'
    const begunAt = performance.now()
    const asked = await ask(name, { path: VIDEOS, model: 'hasty-video' })
    expect(asked.reply.status, asked.reply.text).to.equal(502)
    expect(performance.now() - begunAt).to.be.above(HASTY_SECONDS * 1000 - 500)
    const steps = upstream.seen(name).map(({ step }) => step)
    expect(steps.filter((step) => step === 'submit')).to.have.length(1)
    expect(steps.filter((step) => step === 'content').length, 'asked for the file').to.be.above(1)
    // That of the finished video where the deadline ends a fetch of its file, unknown between two: never nothing.
    expect((await rowOf(asked.reply)).cost_micro_usd, 'the upstream may bill it').to.be.oneOf([
      null,
      SECONDS * PER_SECOND,
    ])
    expect(await paidBy(asked)).to.equal(0)
  })

  /** Expects that every event has data: openai-go before 3.43 dispatches one at every blank line. */
  const expectData = ({ text }: Reply): unknown =>
    expect(
      text
        .split('\n\n')
        .slice(0, -1)
        .filter((event) => !/^data: /m.test(event)),
    ).to.deep.equal([])

  it('gets no sign of life while its chunks come, however long they take', async () => {
    const asked = await slow['openai-slow-long']
    expect(asked.reply.text)
      .to.match(/data: \[DONE\]\n\n$/)
      .and.not.to.contain('still here')
    expectData(asked.reply)
    expect(await paidBy(asked)).to.equal(62)
  })

  for (const [name, what, end, credits] of [
    ['openai-late', 'before the first chunk, so that routers see the headers', /data: \[DONE\]\n\n$/, 62],
    ['openai-silent', 'after 15 s of silence', /data: \[DONE\]\n\n$/, 62],
    ['openai-image-slow', 'between the events of an image', /^event: result\n/m, 40],
  ] as const) {
    it(`gets one comment, which begins no event: ${what}`, async () => {
      const asked = await slow[name]
      expect(asked.reply.text.match(/: still here\n(?!\n)/g)).to.have.length(1)
      expect(asked.reply.text).to.match(end)
      expectData(asked.reply)
      expect(await paidBy(asked)).to.equal(credits)
    })
  }
})
