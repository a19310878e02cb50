import { expect } from 'chai'
import { useGateway, useScripted } from '../support/gateway.ts'
import { testQueues } from '../support/console.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { CHAT, prompted } from '../../scripts/harness/calling.ts'
import { eventsOf, saying } from './support/scripted.ts'
import type { Script } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import type { Asking } from './support/targets.ts'
import { PRICES, FUNDS, aFundedAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
const hasty: Asking = { prefix: 'hasty-' }

const MAX_ANSWER_BYTES = 30_000

/** Words of which only 80 come. */
const cutAt80 = () => prompted('[tokens 200] [chunks 200 0] [hang-after 80]')

type Usage = Record<string, number>

const costOf = ({ input_tokens: input, output_tokens: output }: Usage): number =>
  Math.ceil((input! * PRICES.input + output! * PRICES.output) / 10)

describe('a chat that is cut', function () {
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

  before(async () => {
    sent = Promise.all(targetsOf('chat').map(({ protocol }) => leaveSent(`${protocol}-chat`)))
    connecting = leave('unreachable-openai-chat', prompted(), () =>
      gateway.db('calls').where({ model: 'unreachable-openai-chat', status: 'running' }).first(),
    )
    for (const one of [sent, connecting]) one.catch(() => {})
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

    it('is free before: while the connection is being made, and while it waits', async () => {
      expect(await paidBy(await connecting)).to.equal(0)
      await gateway.stopWorker()
      try {
        const prompt = prompted()
        const waiting = await leave('openai-chat', prompt, () =>
          gateway.db('calls').where({ model: 'openai-chat', status: 'queued' }).first(),
        )
        expect([await paidBy(waiting), gateway.sandbox.billed(prompt).total]).to.deep.equal([0, 0])
        const { queues, stop } = testQueues(gateway.config)
        await until('its job is removed', async () => (await queues.depth('chat')) === 0)
        await stop()
      } finally {
        await gateway.startWorker()
      }
    })
  })
})
