import { expect } from 'chai'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { VIDEOS, prompted } from '../../scripts/harness/calling.ts'
import { startStream } from './support/streams.ts'
import type { ChatStream } from './support/streams.ts'
import { CHAT_COST, FUNDS, aFundedAccount, ask, everyProtocol, targetsOf } from './support/targets.ts'

/**
 * When a silent answer sends its first heartbeat, in ms, and how late that may be: routers cut silent connections after
 * 30 s.
 */
const HEARTBEAT_MS = 15_000
const LATE_MS = 12_000

const chat = { protocol: 'openai', modality: 'chat' } as const

describe('a chat stream', () => {
  let gateway: Gateway
  let account: TestAccount
  let silent: {
    stream: Promise<ChatStream & { beganAfterMs: number }>
    events: Promise<{ text: string; commentAfterMs: number }>
  }

  before(async () => {
    gateway = await startGateway({}, everyProtocol)
  })
  // They last longer than the rest, so they begin first and are checked last.
  before(async () => {
    const rich = await aFundedAccount(gateway)
    const begunAt = performance.now()
    silent = {
      stream: startStream(gateway, rich, chat, prompted('[delay 16500] [usage 100 50]')).then((stream) => ({
        ...stream,
        beganAfterMs: performance.now() - begunAt,
      })),
      events: videoEvents(rich),
    }
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(() => gateway.stop())
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })

  /** The events of a video until the first comment, and when that arrived. */
  async function videoEvents({ key }: TestAccount): Promise<{ text: string; commentAfterMs: number }> {
    const begunAt = performance.now()
    const response = await fetch(`${gateway.url}${VIDEOS}`, {
      method: 'POST',
      body: JSON.stringify({ model: 'openai-video', prompt: prompted('[duration 30]') }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${key}` },
    })
    const decoder = new TextDecoder()
    let text = ''
    for await (const piece of response.body!) {
      text += decoder.decode(piece as Uint8Array)
      if (text.includes(': still here')) break
    }
    return { text, commentAfterMs: performance.now() - begunAt }
  }

  it("is answered with the failure's own status if no chunk arrived, over every protocol", () =>
    Promise.all(
      targetsOf('chat').flatMap((target) =>
        ['[status 400]', '[fail]', '[garbage]', '[empty]'].map(async (words) => {
          const own = await aFundedAccount(gateway)
          const stream = await startStream(gateway, own, target, prompted(words))
          await stream.ended
          expect(stream.status, words).to.equal(502)
          expect(JSON.parse(stream.text()).error.type, words).to.equal('upstream_failed')
          expect(await balanceOf(gateway.db, own.id), words).to.equal(FUNDS)
        }),
      ),
    ))

  describe('that is asked for again with its key', () => {
    const keyed = (prompt: string) => ({ headers: { 'idempotency-key': prompt } })

    it('is answered as JSON, charged once, and the other way round', async () => {
      const prompt = prompted('[answer The very same.] [usage 100 50]')
      const stream = await startStream(gateway, account, chat, prompt, keyed(prompt))
      await stream.ended
      const json = await ask(gateway, account, chat, prompt, keyed(prompt))
      expect(json.status, json.text).to.equal(200)
      expect(json.headers.get('idempotent-replayed')).to.equal('true')
      expect(json.headers.get('x-call-id')).to.equal(stream.headers.get('x-call-id'))
      expect(json.json.choices[0]).to.deep.include({ index: 0, finish_reason: 'stop' })
      expect(json.json.choices[0].message.content).to.equal('The very same.').and.to.equal(stream.content())
      expect(json.json.usage).to.deep.equal(stream.chunks().at(-1)!.usage)

      const again = await startStream(gateway, account, chat, prompt, keyed(prompt))
      await again.ended
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect(again.content()).to.equal('The very same.')
      expect(again.last()).to.equal('[DONE]')
      expect(again.chunks().at(-1)!.usage).to.deep.equal(json.json.usage)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - CHAT_COST)
    })

    it('is a stream of what was answered as JSON', async () => {
      const prompt = prompted('[tool weather] [usage 100 50]')
      const asking = {
        ...keyed(prompt),
        more: {
          tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }],
        },
      }
      const json = await ask(gateway, account, chat, prompt, asking)
      const [call] = json.json.choices[0].message.tool_calls
      const stream = await startStream(gateway, account, chat, prompt, asking)
      await stream.ended
      expect(stream.chunks()[0]!.choices[0]!.delta.tool_calls).to.deep.equal([{ index: 0, ...call }])
      expect(stream.chunks().some(({ choices }) => choices[0]?.finish_reason === 'tool_calls')).to.equal(true)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    })

    it('is joined while it runs, in any form, and continues when the second client disconnects', async () => {
      const prompt = prompted('[tokens 30] [chunks 30 40] [usage 100 50]')
      const first = await startStream(gateway, account, chat, prompt, keyed(prompt))
      const [json, second, leaving] = [
        ask(gateway, account, chat, prompt, keyed(prompt)),
        startStream(gateway, account, chat, prompt, keyed(prompt)),
        startStream(gateway, account, chat, prompt, keyed(prompt)),
      ]
      void leaving.then((stream) => stream.leave())
      await first.ended
      expect(first.last()).to.equal('[DONE]')
      expect((await json).json.choices[0].message.content).to.equal(first.content())
      await (
        await second
      ).ended
      expect((await second).content()).to.equal(first.content())
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - CHAT_COST)
    })

    it('repeats its failure', async () => {
      const prompt = prompted('[error-after 2]')
      const stream = await startStream(gateway, account, chat, prompt, keyed(prompt))
      await stream.ended
      const json = await ask(gateway, account, chat, prompt, keyed(prompt))
      expect(json.status).to.equal(502)
      expect(json.json.error).to.deep.equal(stream.chunks().at(-1)!.error)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  })

  describe('whose client disconnects', () => {
    it('can be fetched as cancelled, and its record says that it succeeded', async () => {
      const stream = await startStream(gateway, account, chat, prompted('[tokens 200] [chunks 200 30]'))
      await until('some chunks', () => stream.chunks().length > 4)
      stream.leave()
      const id = stream.headers.get('x-call-id')!
      const kept = await get(`${gateway.url}/v1/calls/${id}?wait=60`, account.key)
      expect(kept.json.choices[0].finish_reason).to.equal('cancelled')
      expect(await findRecord(gateway.db, parseId('call', id)!)).to.include({
        status: 'succeeded',
        httpStatus: 200,
        credits: kept.json.usage.credits,
        upstream: 'openai',
      })
    })
  })

  describe('over a silent upstream', function () {
    // They are waited for from the beginning on, and take fifteen seconds.
    this.timeout(120_000)
    it('sends a heartbeat after 15 s, and then its answer', async () => {
      const stream = await silent.stream
      expect(stream.beganAfterMs).to.be.within(HEARTBEAT_MS - 500, HEARTBEAT_MS + LATE_MS)
      expect(stream.status).to.equal(200)
      expect(stream.headers.get('content-type')).to.match(/^text\/event-stream/)
      await stream.ended
      expect(stream.text()).to.match(/^: still here\n(?!\n)/)
      expect(stream.last()).to.equal('[DONE]')
      expect(stream.chunks().at(-1)!.usage).to.include({ credits: CHAT_COST })
    })

    it('has a comment after 15 s without a byte, as the events of a video have', async () => {
      const { text, commentAfterMs } = await silent.events
      expect(text)
        .to.match(/^event: queued\n/)
        .and.to.match(/\nevent: running\n/)
        .and.to.match(/\nevent: progress\n/)
      expect(commentAfterMs).to.be.at.least(HEARTBEAT_MS - 500)
    })
  })
})
