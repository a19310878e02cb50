import { expect } from 'chai'
import type { Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import { saying, startScripted } from './support/scripted.ts'
import type { Script, Scripted } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import { PRICES, FUNDS, aFundedAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
const anthropic = { protocol: 'anthropic', modality: 'chat' } as const

const costOf = ({ input_tokens: input, output_tokens: output }: Record<string, number>): number =>
  Math.ceil((input! * PRICES.input + output! * PRICES.output) / 10)

describe('a chat that ends by itself', function () {
  let gateway: Gateway
  let scripted: Scripted

  before(async () => {
    scripted = await startScripted()
    gateway = await startGateway({}, (catalogue) => {
      everyProtocol(catalogue)
      for (const protocol of ['openai', 'anthropic'] as const) {
        catalogue.upstreams[`scripted-${protocol}`] = { protocol, baseUrl: scripted.origin }
        const upstreams = [{ upstream: `scripted-${protocol}`, model: 'some/model' }]
        catalogue.models.push(modelEntry(`scripted-${protocol}-chat`, 'chat', upstreams))
        catalogue.models.push(modelEntry(`scripted-hasty-${protocol}-chat`, 'chat', upstreams, { timeoutSeconds: 3 }))
      }
    })
  })
  after(async () => {
    await gateway.stop()
    await scripted.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const paidBy = async ({ id }: { id: Parameters<typeof balanceOf>[1] }): Promise<number> =>
    FUNDS - (await balanceOf(gateway.db, id))

  describe('and says nothing', () => {
    for (const target of targetsOf('chat')) {
      it(`is an answer if it has a finish reason and a usage: ${target.protocol}`, async () => {
        const account = await aFundedAccount(gateway)
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

    it('is not an answer if nothing says that the model stopped', async () => {
      const answers: [Protocol, object][] = [
        [
          'anthropic',
          { type: 'message', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 0 } },
        ],
        ['anthropic', { type: 'message', content: [], stop_reason: 'end_turn' }],
        ['openai', { choices: [], usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } }],
      ]
      for (const [protocol, answer] of answers) {
        const account = await aFundedAccount(gateway)
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

  describe('with a usage, or without one', () => {
    it('is charged for reasoning that its upstream counts separately, streamed and not', async () => {
      const account = await aFundedAccount(gateway)
      const reply = await ask(gateway, account, openai, prompted('[usage 41 104] [reasoning 266]'))
      expect(reply.json.usage).to.include({ input_tokens: 41, output_tokens: 370, total_tokens: 411 })
      const stream = await startStream(gateway, account, openai, prompted('[usage 41 104] [reasoning 266]'))
      await stream.ended
      expect(stream.chunks().at(-1)!.usage).to.include({ input_tokens: 41, output_tokens: 370 })
      expect(await paidBy(account)).to.equal(2 * costOf({ input_tokens: 41, output_tokens: 370 }))
    })

    it('is charged double for cache writes of an hour, as its upstream bills them', async () => {
      const account = await aFundedAccount(gateway)
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

    it('is charged for its words if nothing is reported, not for the JSON around them', async () => {
      const account = await aFundedAccount(gateway)
      const prompt = prompted('[answer Hello from the mock upstream.] [no-usage]')
      expect((await ask(gateway, account, openai, prompt)).json.usage).to.include({ output_tokens: 10 })
      const stream = await startStream(gateway, account, openai, prompt)
      await stream.ended
      expect(stream.chunks().at(-1)!.usage).to.include({ output_tokens: 10 })
    })
  })

  describe('at an upstream that does not stream', () => {
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

    it('is answered if JSON arrives in place of a stream', async () => {
      const account = await aFundedAccount(gateway)
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

    it('is answered if the stream is refused, and the whole answer is not', async () => {
      const account = await aFundedAccount(gateway)
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
