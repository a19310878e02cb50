import { expect } from 'chai'
import type { Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get, until } from '../../scripts/harness/http.ts'
import { CHAT, prompted, recordOf } from '../../scripts/harness/calling.ts'
import { eventsOf, saying, startScripted } from './support/scripted.ts'
import type { Script, Scripted } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import type { Asking } from './support/targets.ts'
import { PRICES, RICH, aRichAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
const anthropic = { protocol: 'anthropic', modality: 'chat' } as const
const hasty: Asking = { prefix: 'hasty-' }

const MAX_ANSWER_BYTES = 30_000

type Usage = Record<string, number>

const costOf = ({ input_tokens: input, output_tokens: output }: Usage): number =>
  Math.ceil((input! * PRICES.input + output! * PRICES.output) / 10)

describe('a chat that is cut', function () {
  this.timeout(30_000)
  let gateway: Gateway
  let scripted: Scripted

  before(async () => {
    scripted = await startScripted()
    gateway = await startGateway({ MAX_ANSWER_BYTES: String(MAX_ANSWER_BYTES) }, (catalogue) => {
      everyProtocol(catalogue)
      for (const protocol of ['openai', 'anthropic'] as const) {
        catalogue.upstreams[`scripted-${protocol}`] = { protocol, baseUrl: scripted.origin }
        const upstreams = [{ upstream: `scripted-${protocol}`, model: 'some/model' }]
        catalogue.models.push(modelEntry(`scripted-${protocol}-chat`, 'chat', upstreams))
        catalogue.models.push(modelEntry(`scripted-hasty-${protocol}-chat`, 'chat', upstreams, { timeoutSeconds: 3 }))
      }
      // Nobody answers there, so that a connection is never made.
      catalogue.upstreams.unreachable = { protocol: 'openai', baseUrl: 'http://192.0.2.1:9' }
      catalogue.models.push(modelEntry('unreachable-openai-chat', 'chat', [{ upstream: 'unreachable', model: 'm' }]))
    })
  })
  after(async () => {
    await gateway.stop()
    await scripted.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const paidBy = async ({ id }: { id: Parameters<typeof balanceOf>[1] }): Promise<number> =>
    RICH - (await balanceOf(gateway.db, id))

  describe('at its deadline', () => {
    it('is paid for the 80 chunks that its stream has delivered, and ends like one that was too long', () =>
      Promise.all(
        targetsOf('chat').map(async (target) => {
          const account = await aRichAccount(gateway)
          const stream = await startStream(
            gateway,
            account,
            target,
            prompted('[tokens 200] [chunks 200 0] [hang-after 80]'),
            hasty,
          )
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

    it('is answered with what was produced where it is not streamed, and paid for that', () =>
      Promise.all(
        targetsOf('chat').map(async (target) => {
          const account = await aRichAccount(gateway)
          const reply = await ask(
            gateway,
            account,
            target,
            prompted('[tokens 200] [chunks 200 0] [hang-after 80]'),
            hasty,
          )
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

    it('is refunded where nothing had come', async () => {
      for (const words of ['[hang]', '[hang-body]', '[hang-after 0]']) {
        const account = await aRichAccount(gateway)
        const reply = await ask(gateway, account, openai, prompted(words), hasty)
        expect([reply.status, await paidBy(account)], words).to.deep.equal([502, 0])
      }
    })
  })

  describe('at MAX_ANSWER_BYTES', () => {
    const LARGE: [what: string, words: string, more: object][] = [
      ['a long text', '[big 1]', {}],
      ['the probabilities of every word', '[tokens 400]', { logprobs: true, top_logprobs: 20 }],
      ['many choices', '[tokens 1000]', { n: 8 }],
    ]
    for (const [what, words, more] of LARGE) {
      it(`is paid for what was delivered of ${what}, streamed and not`, async () => {
        const account = await aRichAccount(gateway)
        const stream = await startStream(gateway, account, openai, prompted(words), { more })
        await stream.ended
        expect(stream.last(), stream.text().slice(-300)).to.equal('[DONE]')
        expect(stream.chunks().at(-2)!.choices[0]!.finish_reason).to.equal('length')
        const usage = stream.chunks().at(-1)!.usage as Usage
        expect(usage.output_tokens).to.be.within(20, MAX_ANSWER_BYTES / 3)
        expect(usage.credits)
          .to.equal(costOf(usage))
          .and.to.equal(await paidBy(account))

        const other = await aRichAccount(gateway)
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

    it('is paid for every choice that its upstream produced, because an answer that may be too long is streamed', async () => {
      const account = await aRichAccount(gateway)
      const prompt = prompted('[tokens 40]')
      const reply = await ask(gateway, account, openai, prompt, {
        more: { n: 8, logprobs: true, top_logprobs: 20, max_tokens: 40 },
      })
      expect(gateway.sandbox.journal(prompt).map(({ body }) => (body as { stream?: boolean }).stream)).to.deep.equal([
        true,
      ])
      expect(reply.json.choices, reply.text.slice(0, 300)).to.have.length(8)
      expect(reply.json.usage.credits)
        .to.equal(costOf(reply.json.usage as Usage))
        .and.to.equal(await paidBy(account))
    })

    it('is paid for the text that fits, and no more, where it comes in one piece', async () => {
      const account = await aRichAccount(gateway)
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

    it('leaves alone an answer that is shorter, however often it is wrapped in JSON', async () => {
      const account = await aRichAccount(gateway)
      const stream = await startStream(gateway, account, openai, prompted('[tokens 350] [chunks 350 0] [usage 100 50]'))
      await stream.ended
      expect(stream.text().length).to.be.above(MAX_ANSWER_BYTES)
      expect(stream.content().split(' ').length).to.equal(350)
      expect(stream.chunks().at(-1)!.usage).to.include({ output_tokens: 50 })
    })
  })

  describe('by a client that leaves before its first chunk', () => {
    async function leave(
      model: string,
      content: string,
      reached: () => unknown,
    ): Promise<{ account: Awaited<ReturnType<typeof aRichAccount>> }> {
      const account = await aRichAccount(gateway)
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
        gateway.db('calls').where({ user_id: account.id }).whereIn('status', ['succeeded', 'failed']).first(),
      )
      return { account }
    }

    it('pays its input once the request was sent', () =>
      Promise.all(
        targetsOf('chat').map(async ({ protocol }) => {
          const prompt = prompted(`[delay 20000] ${'a long prompt '.repeat(300)}`)
          const { account } = await leave(`${protocol}-chat`, prompt, () => gateway.sandbox.open(prompt).open)
          const row = await gateway.db('calls').where({ user_id: account.id }).first()
          expect(row).to.include({ status: 'succeeded', output_tokens: 0 })
          expect(row.input_tokens).to.equal(row.estimated_input_tokens).and.to.be.above(1400)
          expect(await paidBy(account)).to.equal((row.input_tokens * PRICES.input) / 10)
        }),
      ))

    it('pays nothing before: while its connection is being made, and while it waits', async () => {
      const connecting = await leave('unreachable-openai-chat', prompted(), () =>
        gateway.db('calls').where({ model: 'unreachable-openai-chat', status: 'running' }).first(),
      )
      expect(await paidBy(connecting.account)).to.equal(0)
      await gateway.stopWorker()
      try {
        const prompt = prompted()
        const waiting = await leave('openai-chat', prompt, () =>
          gateway.db('calls').where({ model: 'openai-chat', status: 'queued' }).first(),
        )
        expect([await paidBy(waiting.account), gateway.sandbox.billed(prompt).total]).to.deep.equal([0, 0])
      } finally {
        await gateway.startWorker()
      }
    })
  })

  describe('by nobody, but says nothing', () => {
    for (const target of targetsOf('chat')) {
      it(`is an answer where it has a reason to stop and a usage, asked for once and paid: ${target.protocol}`, async () => {
        const account = await aRichAccount(gateway)
        const prompt = prompted('[tokens 0] [usage 100 0]')
        const reply = await ask(gateway, account, target, prompt)
        expect(reply.status, reply.text).to.equal(200)
        expect(reply.json.choices[0]).to.deep.include({ finish_reason: 'stop' })
        expect(reply.json.choices[0].message.content).to.equal('')
        expect(reply.json.usage).to.include({ input_tokens: 100, output_tokens: 0, credits: 100 })
        const streamed = prompted('[tokens 0] [usage 100 0]')
        const stream = await startStream(gateway, account, target, streamed)
        await stream.ended
        expect(stream.last()).to.equal('[DONE]')
        expect(stream.content()).to.equal('')
        expect(await paidBy(account)).to.equal(200)
        for (const asked of [prompt, streamed]) expect(gateway.sandbox.billed(asked).total, 'asked once').to.equal(1)
      })
    }

    it('is no answer where nothing says that the model stopped', async () => {
      const answers: [Protocol, object][] = [
        [
          'anthropic',
          { type: 'message', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 0 } },
        ],
        ['anthropic', { type: 'message', content: [], stop_reason: 'end_turn' }],
        ['openai', { choices: [], usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } }],
      ]
      for (const [protocol, answer] of answers) {
        const account = await aRichAccount(gateway)
        const reply = await ask(
          gateway,
          account,
          { protocol, modality: 'chat' },
          scripted.prompt(saying(JSON.stringify(answer))),
          { prefix: 'scripted-' },
        )
        expect([reply.status, await paidBy(account)], JSON.stringify(answer)).to.deep.equal([502, 0])
      }
    })
  })

  describe('by nobody, and counted', () => {
    it('pays the reasoning that its upstream counts outside the completion, streamed and not', async () => {
      const account = await aRichAccount(gateway)
      const reply = await ask(gateway, account, openai, prompted('[usage 41 104] [reasoning 266]'))
      expect(reply.json.usage).to.include({ input_tokens: 41, output_tokens: 370, total_tokens: 411 })
      const stream = await startStream(gateway, account, openai, prompted('[usage 41 104] [reasoning 266]'))
      await stream.ended
      expect(stream.chunks().at(-1)!.usage).to.include({ input_tokens: 41, output_tokens: 370 })
      expect(await paidBy(account)).to.equal(2 * costOf({ input_tokens: 41, output_tokens: 370 }))
    })

    it('pays what was written to a cache for an hour twice, as its upstream bills it', async () => {
      const account = await aRichAccount(gateway)
      const usage = {
        input_tokens: 10,
        cache_creation_input_tokens: 100,
        cache_creation: { ephemeral_1h_input_tokens: 100 },
        output_tokens: 5,
      }
      const answer = { type: 'message', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage }
      const reply = await ask(gateway, account, anthropic, scripted.prompt(saying(JSON.stringify(answer))), {
        prefix: 'scripted-',
      })
      expect(reply.json.usage).to.include({
        input_tokens: 110,
        output_tokens: 5,
        credits: costOf({ input_tokens: 210, output_tokens: 5 }),
      })
      expect(await recordOf(gateway.db, reply)).to.include({ inputTokens: 110, credits: reply.json.usage.credits })
    })

    it('pays for its words where nothing is reported, not for the JSON around them', async () => {
      const account = await aRichAccount(gateway)
      const prompt = prompted('[answer Hello from the mock upstream.] [no-usage]')
      expect((await ask(gateway, account, openai, prompt)).json.usage).to.include({ output_tokens: 10 })
      const stream = await startStream(gateway, account, openai, prompt)
      await stream.ended
      expect(stream.chunks().at(-1)!.usage).to.include({ output_tokens: 10 })
    })
  })

  describe('or might be, by an upstream that does not stream', () => {
    const ANSWER = JSON.stringify({
      id: 'c',
      created: 1,
      model: 'm',
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'Hello',
            tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
        },
      ],
    })
    const expected = {
      index: 0,
      finish_reason: 'tool_calls',
      message: (JSON.parse(ANSWER) as { choices: { message: object }[] }).choices[0]!.message,
    }

    it('is answered as well: where JSON comes in place of a stream', async () => {
      const account = await aRichAccount(gateway)
      const reply = await ask(gateway, account, openai, scripted.prompt(saying(ANSWER)), { prefix: 'scripted-hasty-' })
      expect(reply.json.choices).to.deep.equal([expected])
      expect(reply.json.usage).to.include({ input_tokens: 3, output_tokens: 4 })
      const stream = await startStream(gateway, account, openai, scripted.prompt(saying(ANSWER)), {
        prefix: 'scripted-',
      })
      await stream.ended
      expect(stream.content()).to.equal('Hello')
      expect(stream.last()).to.equal('[DONE]')
    })

    it('is answered as well: where the stream is refused, and the whole answer is not', async () => {
      const account = await aRichAccount(gateway)
      const refusing: Script = (request, response, body) => {
        if (!(JSON.parse(body) as { stream?: boolean }).stream) return saying(ANSWER)(request, response, body)
        const error = {
          message: 'Your organization must be verified to stream this model.',
          type: 'invalid_request_error',
          param: 'stream',
          code: 'unsupported_value',
        }
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      }
      const reply = await ask(gateway, account, openai, scripted.prompt(refusing), { prefix: 'scripted-hasty-' })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.choices).to.deep.equal([expected])
    })
  })
})
