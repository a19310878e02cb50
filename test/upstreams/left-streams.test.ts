import { expect } from 'chai'
import { useGateway, useScripted } from '../support/gateway.ts'
import { hasEnded } from '../../src/shared/terms/lifecycle.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { eventsOf } from './support/scripted.ts'
import type { Script } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import type { ChatStream } from './support/streams.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'
import type { Asking, Target } from './support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
const openrouter = { protocol: 'openrouter', modality: 'chat' } as const

/** Words that are all shown two seconds before the upstream reports that it has billed 450 tokens. */
const HIDDEN = '[tokens 10] [think 2000] [usage 100 50] [reasoning 400]'
/** Words of a model that goes on thinking for longer than anybody waits. */
const ENDLESS = '[tokens 10] [think 100000] [usage 100 50]'

const THINKING: Asking = { more: { reasoning_effort: 'low' } }

describe('a stream that is left', function () {
  // One of them is read on for thirty seconds.
  this.timeout(150_000)
  const scripted = useScripted()
  const gateway = useGateway({}, (catalogue) => {
    everyProtocol(catalogue)
    catalogue.upstreams.scripted = { protocol: 'openai', baseUrl: scripted.origin }
    catalogue.models.push(modelEntry('scripted-openai-chat', 'chat', [{ upstream: 'scripted', model: 'some/model' }]))
  })
  /** One whose model reports nothing for longer than it is read on. */
  let patient: Promise<{ record: CallRecord; stream: ChatStream; tookMs: number }>

  before(async () => {
    patient = leaveEndless()
    patient.catch(() => {})
  })

  /** Begins a stream and leaves it after its last visible word. */
  async function left(target: Target, prompt: string, asking: Asking = {}, own?: TestAccount): Promise<ChatStream> {
    const stream = await startStream(gateway, own ?? (await aFundedAccount(gateway)), target, prompt, asking)
    await until('all its words', () => stream.content().split(' ').length === 10)
    stream.leave()
    return stream
  }

  const endOf = (stream: ChatStream): Promise<CallRecord> =>
    until(
      'its end',
      async () => {
        const record = await findRecord(gateway.db, parseId('call', stream.headers.get('x-call-id')!)!)
        return record && hasEnded(record.status) ? record : null
      },
      60_000,
    )

  async function leaveEndless() {
    const startedAt = performance.now()
    const stream = await left(openrouter, prompted(ENDLESS), THINKING)
    const record = await endOf(stream)
    return { record, stream, tookMs: performance.now() - startedAt }
  }

  const countOf = (stream: ChatStream): number => Math.ceil(stream.content().length / 3)

  describe('of a model that reasons', () => {
    for (const target of targetsOf('chat')) {
      it(`is settled at what the upstream reports, if reasoning was asked for: ${target.protocol}`, async () => {
        const record = await endOf(await left(target, prompted('[tokens 10] [think 2000] [usage 100 450]'), THINKING))
        expect(record).to.include({ status: 'succeeded', inputTokens: 100, outputTokens: 450 })
      })
    }

    it('is settled at what the upstream reports, if the model has reported reasoning before', async () => {
      await ask(gateway, await aFundedAccount(gateway), openai, prompted('[reasoning 40]'))
      const prompt = prompted(HIDDEN)
      const stream = await left(openai, prompt)
      expect(await endOf(stream)).to.include({ status: 'succeeded', inputTokens: 100, outputTokens: 450 })
      expect(gateway.sandbox.open(prompt).aborted).to.equal(0)
    })

    it('is settled at what the upstream reports, if reasoning was shown, and then no longer read', async () => {
      let isLeft = false
      const word = (delta: object) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }] })
      const script: Script = (_request, response) => {
        response.once('close', () => (isLeft = true))
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(eventsOf(word({ reasoning_content: 'Well.' }), word({ content: 'a b c d e f g h i j' })))
        const usage = { prompt_tokens: 10, completion_tokens: 300 }
        setTimeout(() => response.write(eventsOf({ id: 'c', choices: [], usage })), 1500)
      }
      const stream = await left(openai, scripted.prompt(script), { prefix: 'scripted-' })
      expect(await endOf(stream)).to.include({ status: 'succeeded', inputTokens: 10, outputTokens: 300 })
      await until('the upstream to be left', () => isLeft)
    })

    it('can be fetched with everything that it said', async () => {
      const account = await aFundedAccount(gateway)
      const stream = await startStream(gateway, account, openai, prompted(`${HIDDEN} [chunks 10 100]`), THINKING)
      await until('some words', () => stream.content() !== '')
      stream.leave()
      const kept = await get(`${gateway.url}/v1/calls/${stream.headers.get('x-call-id')}?wait=60`, account.key)
      expect(kept.json.choices[0].message.content.split(' ')).to.have.length(10)
      expect(kept.json.usage).to.include({ output_tokens: 450, balance: FUNDS - kept.json.usage.credits })
    })

    it('is read on until its deadline at most, and then paid by its words', async () => {
      const stream = await left(openrouter, prompted(ENDLESS), { ...THINKING, prefix: 'hasty-' })
      expect(await endOf(stream)).to.include({ status: 'succeeded', outputTokens: countOf(stream) })
    })

    it('is read on for 30 s at most, and then paid by its words', async () => {
      const { record, stream, tookMs } = await patient
      expect(record).to.include({ status: 'succeeded', outputTokens: countOf(stream) })
      expect(tookMs).to.be.within(30_000, 55_000)
    })

    it('is paid by its words when its worker stops, which does not wait for it', async () => {
      // It would be ended too early.
      await patient
      const stream = await left(openrouter, prompted(ENDLESS), THINKING)
      // The service has noticed the disconnect once it has answered later requests.
      for (let later = 0; later < 3; later++) await get(`${gateway.url}/healthz`)
      await gateway.stopWorker()
      expect(await endOf(stream)).to.include({ status: 'succeeded', outputTokens: countOf(stream) })
      await gateway.startWorker()
    })
  })

  it('is cancelled at its upstream at once if the model does not reason', async () => {
    const prompt = prompted(ENDLESS)
    const account = await aFundedAccount(gateway)
    const stream = await left({ protocol: 'anthropic', modality: 'chat' }, prompt, {}, account)
    await until('the upstream to be left', () => gateway.sandbox.open(prompt).aborted === 1, 10_000)
    expect(await endOf(stream)).to.include({ status: 'succeeded', outputTokens: countOf(stream) })
    const { json } = await get(`${gateway.url}/v1/calls/${stream.headers.get('x-call-id')}`, account.key)
    expect(json.choices[0]).to.deep.include({ finish_reason: 'cancelled' })
    expect(json.choices[0].message.content).to.equal(stream.content())
    expect(json.usage.balance)
      .to.equal(FUNDS - json.usage.credits)
      .and.to.be.below(FUNDS)
  })
})
