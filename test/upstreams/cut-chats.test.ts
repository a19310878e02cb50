import { expect } from 'chai'
import { parseId } from '../../src/shared/platform/ids.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { hasEnded } from '../../src/shared/terms/lifecycle.ts'
import { useGateway, useScripted } from '../support/gateway.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { CHAT, prompted } from '../../scripts/harness/calling.ts'
import { eventsOf, saying } from './support/scripted.ts'
import type { Script } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import type { ChatStream } from './support/streams.ts'
import type { Asking, Target } from './support/targets.ts'
import { PRICES, FUNDS, aFundedAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
const hasty: Asking = { prefix: 'hasty-' }

const MAX_ANSWER_BYTES = 30_000

/** Words of which only 80 come. */
const cutAt80 = () => prompted('[tokens 200] [chunks 200 0] [hang-after 80]')

type Usage = Record<string, number>

const costOf = ({ input_tokens: input, output_tokens: output }: Usage): number =>
  Math.ceil((input! * PRICES.input + output! * PRICES.output) / 10)

const openrouter = { protocol: 'openrouter', modality: 'chat' } as const

/** Words that are all shown two seconds before the upstream reports that it has billed 450 tokens. */
const HIDDEN = '[tokens 10] [think 2000] [usage 100 50] [reasoning 400]'
/** Words of a model that goes on thinking for longer than anybody waits. */
const ENDLESS = '[tokens 10] [think 100000] [usage 100 50]'

const THINKING: Asking = { more: { reasoning_effort: 'low' } }

describe('a chat that is cut', function () {
  // One stream is read on for thirty seconds.
  this.timeout(150_000)
  const scripted = useScripted()
  const gateway = useGateway({ MAX_ANSWER_BYTES: String(MAX_ANSWER_BYTES) }, (catalogue) => {
    everyProtocol(catalogue)
    for (const protocol of ['openai', 'anthropic'] as const) {
      catalogue.upstreams[`scripted-${protocol}`] = { protocol, baseUrl: scripted.origin }
      const upstreams = [{ upstream: `scripted-${protocol}`, model: 'some/model' }]
      catalogue.models.push(modelEntry(`scripted-${protocol}-chat`, 'chat', upstreams))
      catalogue.models.push(modelEntry(`scripted-hasty-${protocol}-chat`, 'chat', upstreams, { timeoutSeconds: 3 }))
    }
    // Nothing answers there, so that no connection is made.
    catalogue.upstreams.unreachable = { protocol: 'openai', baseUrl: 'http://192.0.2.1:9' }
    catalogue.models.push(modelEntry('unreachable-openai-chat', 'chat', [{ upstream: 'unreachable', model: 'm' }]))
  })
  /** Left before their first chunk: they end while everything else runs. */
  let connecting: Promise<TestAccount>
  let sent: Promise<{ prompt: string; account: TestAccount }[]>
  /** One whose model reports nothing for longer than it is read on. */
  let patient: Promise<{ record: CallRecord; stream: ChatStream; tookMs: number }>

  before(async () => {
    sent = Promise.all(targetsOf('chat').map(({ protocol }) => leaveSent(`${protocol}-chat`)))
    connecting = leave('unreachable-openai-chat', prompted(), () =>
      gateway.db('calls').where({ model: 'unreachable-openai-chat', status: 'running' }).first(),
    )
    patient = leaveEndless()
    for (const one of [sent, connecting, patient]) one.catch(() => {})
  })

  /** Leaves a stream that has no chunk yet; resolves, ten seconds later, with its account. */
  async function leave(model: string, content: string, reached: () => unknown): Promise<TestAccount> {
    const account = await aFundedAccount(gateway)
    const client = new AbortController()
    const asked = fetch(`${gateway.url}${CHAT}`, {
      method: 'POST',
      signal: client.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${account.key}` },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] }),
    }).catch(() => {})
    await until('the call being where it is left', reached)
    client.abort()
    await asked
    await until('its end', async () =>
      gateway.db('calls').where({ account_id: account.id }).whereIn('status', ['succeeded', 'failed']).first(),
    )
    return account
  }

  async function leaveSent(model: string) {
    const prompt = prompted(`[delay 20000] ${'a long prompt '.repeat(300)}`)
    return { prompt, account: await leave(model, prompt, () => gateway.sandbox.open(prompt).open) }
  }

  const paidBy = async ({ id }: TestAccount): Promise<number> => FUNDS - (await balanceOf(gateway.db, id))

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

  describe('at its deadline', () => {
    it('is charged for the 80 chunks that were delivered, and ends like one that was too long', () =>
      Promise.all(
        targetsOf('chat').map(async (target) => {
          const account = await aFundedAccount(gateway)
          const stream = await startStream(gateway, account, target, cutAt80(), hasty)
          await stream.ended
          expect(stream.status).to.equal(200)
          const chunks = stream.chunks()
          expect(chunks.filter(({ choices }) => choices[0]?.delta.content).length).to.equal(80)
          expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).to.deep.equal(['length'])
          expect(stream.last()).to.equal('[DONE]')
          const usage = chunks.at(-1)!.usage as Usage
          expect(usage.output_tokens).to.equal(Math.ceil(stream.content().length / 3))
          expect(usage.credits)
            .to.equal(costOf(usage))
            .and.to.equal(await paidBy(account))
          const kept = await get(`${gateway.url}/v1/calls/${stream.headers.get('x-call-id')}`, account.key)
          expect(kept.json.choices[0]).to.deep.include({ finish_reason: 'length' })
          expect(kept.json.choices[0].message.content).to.equal(stream.content())
        }),
      ))

    it('is answered with what was produced if it is not streamed, and charged for that', () =>
      Promise.all(
        targetsOf('chat').map(async (target) => {
          const account = await aFundedAccount(gateway)
          const reply = await ask(gateway, account, target, cutAt80(), hasty)
          expect(reply.status, reply.text).to.equal(200)
          const {
            choices: [choice],
            usage,
          } = reply.json
          expect(choice.finish_reason).to.equal('length')
          expect(choice.message.content.split(' ').length).to.equal(80)
          expect(usage.credits)
            .to.equal(costOf(usage as Usage))
            .and.to.equal(await paidBy(account))
            .and.to.be.above(100)
        }),
      ))
  })

  it('is asked for whole where its upstream refuses to stream it', async () => {
    const account = await aFundedAccount(gateway)
    const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }
    const refusing: Script = (request, response, body) => {
      if (!(JSON.parse(body) as { stream?: boolean }).stream)
        return saying(JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [choice] }))(request, response, body)
      const message = 'Your organization must be verified to stream this model.'
      const error = { message, type: 'invalid_request_error', param: 'stream', code: 'unsupported_value' }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    }
    const reply = await ask(gateway, account, openai, scripted.prompt(refusing), { prefix: 'scripted-hasty-' })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.choices).to.deep.equal([choice])
  })

  describe('at MAX_ANSWER_BYTES', () => {
    const LARGE: [what: string, words: string, more: object][] = [
      ['a long text', '[big 1]', {}],
      ['the probabilities of every word', '[tokens 400]', { logprobs: true, top_logprobs: 20 }],
      ['many choices', '[tokens 1000]', { n: 8 }],
    ]
    for (const [what, words, more] of LARGE) {
      it(`is charged for what was delivered of ${what}, streamed and not`, async () => {
        const account = await aFundedAccount(gateway)
        const stream = await startStream(gateway, account, openai, prompted(words), { more })
        await stream.ended
        expect(stream.last(), stream.text().slice(-300)).to.equal('[DONE]')
        expect(stream.chunks().at(-1)!.choices[0]!.finish_reason).to.equal('length')
        const usage = stream.chunks().at(-1)!.usage as Usage
        expect(usage.output_tokens).to.be.within(20, MAX_ANSWER_BYTES / 3)
        expect(usage.credits)
          .to.equal(costOf(usage))
          .and.to.equal(await paidBy(account))

        const other = await aFundedAccount(gateway)
        const reply = await ask(gateway, other, openai, prompted(words), { more })
        expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
        expect(reply.json.choices.at(-1).finish_reason).to.equal('length')
        expect(reply.json.choices[0].message.content).to.be.a('string').that.is.not.empty
        expect(reply.json.usage.credits)
          .to.equal(costOf(reply.json.usage as Usage))
          .and.to.equal(await paidBy(other))
          .and.to.be.above(100)
        expect(reply.text.length).to.be.below(MAX_ANSWER_BYTES + 2000)
      })
    }

    it('is charged only for the text that fits, if it arrives in one piece', async () => {
      const account = await aFundedAccount(gateway)
      const content = 'ä'.repeat(40_000)
      const script: Script = (_request, response) => {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            eventsOf({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] }),
          )
      }
      const stream = await startStream(gateway, account, openai, scripted.prompt(script), { prefix: 'scripted-' })
      await stream.ended
      expect(stream.last()).to.equal('[DONE]')
      expect(stream.content().length).to.be.within(MAX_ANSWER_BYTES / 2 - 200, MAX_ANSWER_BYTES / 2)
      expect(await paidBy(account)).to.equal(costOf(stream.chunks().at(-1)!.usage as Usage))
    })

    it('does not cut a shorter answer, however much JSON is around it', async () => {
      const account = await aFundedAccount(gateway)
      const stream = await startStream(gateway, account, openai, prompted('[tokens 350] [chunks 350 0] [usage 100 50]'))
      await stream.ended
      expect(stream.text().length).to.be.above(MAX_ANSWER_BYTES)
      expect(stream.content().split(' ').length).to.equal(350)
      expect(stream.chunks().at(-1)!.usage).to.include({ output_tokens: 50 })
    })
  })

  describe('by a client that disconnects before the first chunk', () => {
    it('is charged for its input once the request was sent', async () => {
      for (const { prompt, account } of await sent) {
        await until('the upstream being left', () => gateway.sandbox.open(prompt).aborted)
        const row = await gateway.db('calls').where({ account_id: account.id }).first()
        expect(row).to.include({ status: 'succeeded', output_tokens: 0 })
        expect(row.input_tokens).to.equal(row.estimated_input_tokens).and.to.be.above(1400)
        expect(await paidBy(account)).to.equal((row.input_tokens * PRICES.input) / 10)
      }
    })

    // One that waits for a place: test/workers/account-share.test.ts.
    it('is free before, while the connection is being made', async () => {
      expect(await paidBy(await connecting)).to.equal(0)
    })
  })

  describe('by a client that leaves its stream', () => {
    describe('of a model that reasons', () => {
      it('is settled at what the upstream reports, if reasoning was asked for', () =>
        Promise.all(
          targetsOf('chat').map(async (target) => {
            const prompt = prompted('[tokens 10] [think 2000] [usage 100 450]')
            const record = await endOf(await left(target, prompt, THINKING))
            const reported = { status: 'succeeded', inputTokens: 100, outputTokens: 450 }
            expect(record, target.protocol).to.include(reported)
          }),
        ))

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
})
