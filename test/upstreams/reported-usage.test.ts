import { expect } from 'chai'
import { anAccount, balanceOf, debtOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get, post, send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { CHAT, callOf, chatBody, recordOf } from '../../scripts/harness/calling.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { changeKey } from '../../src/shared/identity/key-limits.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { eventually } from '../../scripts/harness/until.ts'
import { readExposition, valueOf } from '../support/exposition.ts'
import { expectBooksToBalance } from '../support/books.ts'
import type { Listening } from '../workers/fetching/servers.ts'
import { startRecorded } from './support/recorded.ts'

/** A credit a token of input, a tenth if it was cached, 1.2 if it was written to a cache, 3 a token of output. */
const PRICING = { input: 10, cachedInput: 1, cacheWrite: 12, output: 30, perTokens: 10, minimum: 1 }
/** Micro-dollars. */
const OPENAI_COST = { input: 500, cachedInput: 50, output: 1500, perTokens: 1000 }
const ANTHROPIC_COST = { input: 3000, cachedInput: 300, cacheWrite: 3750, output: 15_000, perTokens: 1000 }

/**
 * How a case is asked: streamed, whole, or whole with so many tokens that the worker reads a stream. A `long` request
 * has the 12,000 bytes that make thousands of tokens possible.
 */
type Way = 'streamed' | 'whole' | 'read as a stream'
const ASKED: Record<Way, object> = {
  streamed: { max_tokens: 100, stream: true },
  whole: { max_tokens: 100 },
  'read as a stream': { max_tokens: 4000 },
}

type Counts = { input: number; output: number; cached?: number; written?: number }
type Case = { name: string; way: Way; long?: true; counts: Counts; credits: number; cost: number }

/** What each recorded answer has used; 38, 33, … of input and 28 of output are our own counts. */
const CASES: Case[] = [
  ['default', 'streamed', { input: 11, output: 17 }, 62, 31],
  ['default', 'whole', { input: 11, output: 7 }, 32, 16],
  ['usage-none', 'streamed', { input: 38, output: 28 }, 122, 61],
  ['usage-none', 'whole', { input: 33, output: 28 }, 117, 59],
  ['usage-none', 'read as a stream', { input: 33, output: 28 }, 117, 59],
  ['usage-zero', 'streamed', { input: 38, output: 28 }, 122, 61],
  ['usage-zero', 'whole', { input: 33, output: 28 }, 117, 59],
  ['usage-zero', 'read as a stream', { input: 33, output: 28 }, 117, 59],
  ['usage-zero-then-words', 'streamed', { input: 41, output: 28 }, 125, 63],
  ['usage-zero-prompt', 'streamed', { input: 40, output: 17 }, 91, 46],
  ['usage-zero-prompt', 'whole', { input: 35, output: 17 }, 86, 43],
  ['usage-zero-output', 'streamed', { input: 11, output: 28 }, 95, 48],
  ['usage-zero-output', 'whole', { input: 11, output: 28 }, 95, 48],
  ['usage-every-chunk', 'streamed', { input: 11, output: 17 }, 62, 31],
  ['usage-every-chunk', 'read as a stream', { input: 11, output: 17 }, 62, 31],
  ['usage-total-strange', 'whole', { input: 100, output: 28 }, 184, 92],
  ['usage-prompt-huge', 'whole', { input: 35, output: 17 }, 86, 43],
  ['a-ok', 'streamed', { input: 11, output: 17 }, 62, 288],
  ['a-ok', 'whole', { input: 11, output: 17 }, 62, 288],
  ['a-all-zero', 'streamed', { input: 38, output: 28 }, 122, 534],
  ['a-start-zero-never', 'streamed', { input: 41, output: 17 }, 92, 378],
  ['a-usage-huge', 'whole', { input: 11, output: 28 }, 95, 453],
].map(([name, way, counts, credits, cost]) => ({ name, way, counts, credits, cost }) as Case)

const LONG: Case[] = [
  ['usage-prompt-without-cache', 'streamed', { input: 100, cached: 5000, output: 17 }, 651, 326],
  ['usage-prompt-without-cache', 'whole', { input: 100, cached: 5000, output: 17 }, 651, 326],
  ['usage-kimi', 'streamed', { input: 100, cached: 1900, output: 17 }, 341, 171],
  ['usage-kimi', 'whole', { input: 100, cached: 1900, output: 17 }, 341, 171],
  ['usage-kimi-both', 'whole', { input: 100, cached: 1900, output: 17 }, 341, 171],
  ['usage-deepseek', 'whole', { input: 100, cached: 1900, output: 17 }, 341, 171],
  ['usage-anthropic-names', 'whole', { input: 50, cached: 1900, written: 50, output: 17 }, 351, 171],
  ['usage-openrouter-cache', 'whole', { input: 100, cached: 400, written: 1500, output: 17 }, 1991, 846],
  ['usage-after-done', 'streamed', { input: 1000, output: 17 }, 1051, 526],
  ['usage-null-details', 'whole', { input: 2000, output: 17 }, 2051, 1026],
  ['a-start-zero', 'streamed', { input: 1000, output: 17 }, 1051, 3255],
  ['a-delta-zero', 'streamed', { input: 1000, cached: 5000, written: 300, output: 17 }, 1911, 5880],
  ['a-delta-cache-null', 'streamed', { input: 1000, cached: 5000, written: 300, output: 17 }, 1911, 5880],
].map(([name, way, counts, credits, cost]) => ({ name, way, long: true, counts, credits, cost }) as Case)

describe('the usage that an upstream reports', function () {
  let gateway: Gateway
  let upstream: Listening
  let workerUrl: string

  before(async () => {
    upstream = await startRecorded()
    const port = await freePort()
    workerUrl = `http://127.0.0.1:${port}`
    gateway = await startGateway({ METRICS_TOKEN: 'a-token', HEALTH_PORT: String(port) }, ({ upstreams, models }) => {
      upstreams.mock = { protocol: 'openai', baseUrl: `${upstream.origin}/v1` }
      upstreams.ant = { protocol: 'anthropic', baseUrl: upstream.origin }
      const model = (id: string, at: string, cost: object) => ({
        id,
        modality: 'chat',
        maxOutputTokens: 8000,
        pricing: PRICING,
        upstreams: [{ upstream: at, model: 'some/model', cost }],
      })
      models.push(model('chat', 'mock', OPENAI_COST), model('claude', 'ant', ANTHROPIC_COST))
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const ask = ({ key }: TestAccount, { name, way, long }: Pick<Case, 'name' | 'way' | 'long'>, headers = {}) => {
    const model = name.startsWith('a-') ? 'claude' : 'chat'
    const body = chatBody(`Hello [case ${name}]${long ? ' and'.repeat(3000) : ''}`, { model, ...ASKED[way] })
    return post(`${gateway.url}${CHAT}`, key, body, headers)
  }

  /** The usage that a client was told, whole or streamed. */
  const toldIn = ({ text }: Reply): Record<string, unknown> =>
    text.startsWith('{')
      ? JSON.parse(text).usage
      : text
          .split('\n\n')
          .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)).usage] : []))
          .findLast((usage) => usage !== undefined)

  for (const one of [...CASES, ...LONG]) {
    const { name, way, credits, cost } = one
    it(`is billed, told and recorded as far as it can be true: ${name}, ${way}`, async () => {
      const account = await anAccount(gateway.db, 50_000)
      const reply = await ask(account, one)
      expect(reply.status, reply.text).to.equal(200)
      const { cached = 0, written = 0, output, input: fresh } = one.counts
      const input = fresh + cached + written
      const told = toldIn(reply)
      expect(told).to.include({
        input_tokens: input,
        prompt_tokens: input,
        output_tokens: output,
        completion_tokens: output,
        total_tokens: input + output,
        credits,
        balance: 50_000 - credits,
      })
      const parts = { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) }
      if (told.prompt_tokens_details !== undefined) expect(told.prompt_tokens_details).to.deep.equal(parts)
      else expect(cached + written).to.equal(0)
      // Nothing that an upstream wrote there itself.
      expect(Object.keys(told).filter((field) => /cache|hit|miss/.test(field))).to.deep.equal([])

      const stored = await get(`${gateway.url}/v1/calls/${publicId('call', callOf(reply))}`, account.key)
      expect(stored.json.usage).to.deep.equal(told)
      expect(await balanceOf(gateway.db, account.id)).to.equal(50_000 - credits)
      expect(await recordOf(gateway.db, reply)).to.include({ inputTokens: input, outputTokens: output, credits })
      const row = await gateway
        .db('calls')
        .where({ id: callOf(reply) })
        .first()
      expect(row).to.include({ cost_micro_usd: cost, cached_input_tokens: cached, cache_write_tokens: written })
    })
  }

  it("passes neither a key's budget nor X-Max-Credits by more than the charge, and leaves no debt", async () => {
    const account = await anAccount(gateway.db, 1000)
    await changeKey(gateway.db, account.keyId, { budget: { credits: 400, period: 'total' } })
    for (const name of ['usage-total-strange', 'usage-prompt-huge', 'a-usage-huge']) {
      const reply = await ask(account, { name, way: 'whole' }, { 'x-max-credits': '400' })
      expect(reply.status, reply.text).to.be.oneOf([200, 402])
      if (reply.status === 200) expect(toldIn(reply).credits).to.be.at.most(2 * 400)
    }
    expect(await debtOf(gateway.db, account.id)).to.equal(0)
    expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - 184)
  })

  it('is counted for the operator where it cannot be true', async () => {
    const refused = async (count: string): Promise<number> => {
      const { text } = await send('GET', `${workerUrl}/metrics`, { headers: { authorization: 'Bearer a-token' } })
      const labels = { upstream: 'mock', count }
      return valueOf(readExposition(text), 'tollgate_usage_not_believed_total', labels) ?? 0
    }
    const before = [await refused('input'), await refused('output')]
    const account = await anAccount(gateway.db, 10_000)
    for (const name of ['usage-prompt-huge', 'usage-total-strange', 'default', 'usage-zero'])
      await ask(account, { name, way: 'whole' })
    await eventually(async () => {
      expect([await refused('input'), await refused('output')]).to.deep.equal(before.map((count) => count + 1))
    })
  })
})
