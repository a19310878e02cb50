import { expect } from 'chai'
import fc from 'fast-check'
import { CHAT, prompted } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { chatCost } from '../../../src/shared/terms/pricing.ts'
import { eventsOf, saying, streaming } from '../../upstreams/support/scripted.ts'
import type { Script } from '../../upstreams/support/scripted.ts'
import { inSoak, seed } from '../../crash/scale.ts'
import { MESSAGE_PRICES, claudeAndGpt } from './support/message-models.ts'
import { useGateway, useScripted } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const FUNDS = 1_000_000

/** What an upstream reports of a message, in disjoint counts. */
type Counts = { input: number; cached: number; written: number; output: number }

/** Where a stream of the Messages API reports its input. */
const PLACES = ['start', 'delta', 'both', 'two starts'] as const
type Place = (typeof PLACES)[number]

const block = { type: 'text', text: 'fine' }
const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }

const anthropicUsage = ({ input, cached, written, output }: Counts) => ({
  input_tokens: input,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: written,
  output_tokens: output,
})

/** A Claude's answer with these counts. Zeros at the start are those of servers that count at the end. */
function anthropic(counts: Counts, stream: boolean, place: Place): Script {
  const usage = anthropicUsage(counts)
  if (!stream) return saying(JSON.stringify({ ...head, content: [block], stop_reason: 'end_turn', usage }))
  const none = anthropicUsage({ input: 0, cached: 0, written: 0, output: 0 })
  const first = place === 'delta' ? none : { ...usage, output_tokens: 1 }
  const start = { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage: first } }
  const middle = [
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
  ]
  const last = place === 'start' ? { output_tokens: counts.output } : usage
  const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: last }
  const starts = place === 'two starts' ? [start, start] : [start]
  return streaming(eventsOf(...starts, ...middle, delta, { type: 'message_stop' }))
}

function openai({ input, cached, written, output }: Counts, stream: boolean): Script {
  const prompt = input + cached + written
  const details = { prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written } }
  const usage = { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output, ...details }
  const message = { role: 'assistant', content: 'fine' }
  const about = { id: 'c', created: 1, model: 'm' }
  const choice = { index: 0, finish_reason: 'stop' }
  if (!stream) return saying(JSON.stringify({ ...about, choices: [{ ...choice, message }], usage }))
  const chunks = eventsOf({ ...about, choices: [{ ...choice, delta: message }] }, { ...about, choices: [], usage })
  return streaming(`${chunks}data: [DONE]\n\n`)
}

describe('the money of messages', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, (catalogue) => {
    claudeAndGpt(catalogue)
    const pricing = MESSAGE_PRICES
    for (const protocol of ['anthropic', 'openai'] as const) {
      catalogue.upstreams[`scripted-${protocol}`] = { protocol, baseUrl: scripted.origin }
      const route = { upstream: `scripted-${protocol}`, model: 'some/model' }
      catalogue.models.push({ id: `scripted-${protocol}`, modality: 'chat', pricing, upstreams: [route] })
      const claude = { upstream: 'claude', model: 'claude-sandbox' }
      catalogue.models.push({ id: `${protocol}-first`, modality: 'chat', pricing, upstreams: [route, claude] })
    }
  })

  const bodyOf = (model: string, content: string, more: object = {}) => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user', content }],
    ...more,
  })
  const ask = (account: Caller, body: object, headers?: Record<string, string>): Promise<Reply> =>
    account.post('/v1/messages', body, headers)

  it('is spent on the next upstream where one answers 200 and no message', async () => {
    const account = await gateway.account(20_000)
    for (const model of ['anthropic-first', 'openai-first'])
      for (const stream of [false, true]) {
        const reply = await ask(account, bodyOf(model, scripted.prompt(saying('{"status":"queued"}')), { stream }))
        expect(reply.status, reply.text).to.equal(200)
        if (stream) expect(reply.text.match(/event: message_start\n/g), reply.text).to.have.length(1)
        expect(await gateway.record(reply)).to.include({ status: 'succeeded', upstream: 'claude' })
      }
  })

  it('settles cached counts at their prices, whole and streamed, and answers counts that add up', async () => {
    const account = await gateway.account(1_000_000_000)
    const counts = fc.record({
      input: fc.integer({ min: 1, max: 200 }),
      cached: fc.nat(200),
      written: fc.nat(200),
      output: fc.integer({ min: 1, max: 500 }),
    })
    const asking = fc.record({
      counts,
      protocol: fc.constantFrom('anthropic', 'openai'),
      stream: fc.boolean(),
      place: fc.constantFrom(...PLACES),
    })
    const some = { input: 10, cached: 20, written: 30, output: 40 }
    await fc.assert(
      fc.asyncProperty(asking, async ({ counts: reported, protocol, stream, place }) => {
        const script = protocol === 'anthropic' ? anthropic(reported, stream, place) : openai(reported, stream)
        // No count is beyond a token a byte.
        const body = bodyOf(`scripted-${protocol}`, `${scripted.prompt(script)} ${'word '.repeat(150)}`, { stream })
        const reply = await ask(account, body)
        expect(reply.status, reply.text).to.equal(200)
        if (stream) expect(reply.text.match(/event: message_start\n/g), reply.text).to.have.length(1)
        const usage = stream
          ? (JSON.parse(/^data: (.*"message_delta".*)$/m.exec(reply.text)![1]!) as { usage: object }).usage
          : (reply.json as { usage: object }).usage
        const credits = chatCost(MESSAGE_PRICES, reported)
        expect(usage).to.deep.include({ ...anthropicUsage(reported), credits })
        const { input, cached, written, output } = reported
        expect(await gateway.record(reply)).to.deep.include({
          inputTokens: input + cached + written,
          cachedInputTokens: cached,
          cacheWriteTokens: written,
          outputTokens: output,
          credits,
        })
      }),
      // Each place is played, whatever the seed.
      {
        numRuns: inSoak ? 100 : 10,
        seed,
        examples: PLACES.map((place) => [{ counts: some, protocol: 'anthropic', stream: true, place }]),
      },
    )
  })

  it('is that of any version and betas, of which known ones pass with their fields to Anthropic alone', async () => {
    const account = await gateway.account(FUNDS)
    const odd = { 'anthropic-version': '1999-01-01, x', 'anthropic-beta': `${'x,'.repeat(4000)}fast-mode-2026-02-01` }
    const known = { 'anthropic-beta': 'context-management-2025-06-27,advanced-tool-use-2025-11-20' }
    const schema = { type: 'object', additionalProperties: false }
    const fields = {
      tools: [{ name: 'look', input_schema: schema, defer_loading: true, strict: true }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    }
    const sent = async (model: string, headers: Record<string, string>, more: object = fields) => {
      const prompt = prompted('[answer fine] [usage 50 5]')
      const reply = await ask(account, bodyOf(model, prompt, more), headers)
      expect(reply.status, reply.text).to.equal(200)
      // What a tool that is loaded later would have counted for is given back.
      expect(reply.json.usage).to.include({ input_tokens: 50, output_tokens: 5, credits: 50 + 3 * 5 })
      return gateway.sandbox.journal(prompt).at(-1)!
    }
    const unknown = (await sent('claude', odd, {})).headers
    expect(unknown).to.include({ 'anthropic-version': '2023-06-01' }).and.not.have.property('anthropic-beta')
    const native = await sent('claude', known)
    expect(native.headers).to.include(known)
    expect(native.body).to.deep.include(fields)
    const other = await sent('gpt', known)
    expect(other.headers).to.not.have.property('anthropic-beta')
    expect(other.body).to.not.have.property('context_management')
  })

  it('is charged once for an Idempotency-Key, which is refused in another dialect', async () => {
    const account = await gateway.account(FUNDS)
    const both = await Promise.all(
      ['/v1/messages', CHAT, '/v1/messages', CHAT].map((path) =>
        account.post(path, bodyOf('gpt', 'both'), { 'idempotency-key': 'one' }),
      ),
    )
    const served = both.filter(({ status }) => status === 200)
    expect(both.map(({ status }) => status)).to.have.members([200, 200, 422, 422])
    expect(new Set(served.map((reply) => reply.headers.get('x-call-id'))).size).to.equal(1)
    expect(await account.counts()).to.include({ charged: 1 })
  })

  for (const model of ['claude', 'gpt']) {
    describe(`of ${model}`, () => {
      it('lowers a limit of 128,000 tokens to half of what the balance pays', async () => {
        const account = await gateway.account(40_000)
        const reply = await ask(account, bodyOf(model, prompted('[answer short]'), { max_tokens: 128_000 }))
        expect(reply.status, reply.text).to.equal(200)
        const sent = Number(reply.headers.get('x-max-output-tokens'))
        expect(sent).to.be.within(4096, 6667)
        const record = await gateway.record(reply)
        expect(record.creditsPrecharged).to.be.within(20_000 - 3, 20_000)
        expect(await account.balance()).to.equal(40_000 - record.credits)
      })

      it('ends an answer where its reserved output ends, within what was held', async () => {
        const prompt = prompted('[tokens 20000]')
        for (const stream of [false, true]) {
          const account = await gateway.account(16_000)
          const reply = await ask(account, bodyOf(model, prompt, { max_tokens: 128_000, stream }))
          expect(reply.status, reply.text).to.equal(200)
          expect(reply.text).to.match(/"stop_reason":\s*"max_tokens"/)
          const record = await gateway.record(reply)
          const sent = Number(reply.headers.get('x-max-output-tokens'))
          expect(record.outputTokens).to.be.at.most(sent)
          expect(gateway.sandbox.journal(prompt).at(-1)!.body).to.deep.include({ max_tokens: sent })
          expect(record.credits).to.be.at.most(record.creditsPrecharged)
          expect(await account.balance()).to.equal(16_000 - record.credits)
        }
      })
    })
  }
})
