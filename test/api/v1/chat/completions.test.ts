import { expect } from 'chai'
import { CHAT, chat, chatBody, prompted } from '../../../../scripts/harness/calling.ts'
import { changeKey } from '../../../../src/shared/identity/key-limits.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'
import { startTestWeb } from '../../../../scripts/harness/harness.ts'
import { begin } from '../../../../scripts/harness/http.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { chunksOf, textOf } from '../support/chunks.ts'

const WEATHER = { type: 'function', function: { name: 'weather' } }

/** One credit a token of output, and nothing for input: what is reserved is the limit. */
const BY_OUTPUT = { input: 0, output: 1, perTokens: 1, minimum: 1 }
const BY_25 = { input: 1, output: 3, perTokens: 25, minimum: 1 }

// What an upstream is sent: test/workers/upstreams/openai/chat.test.ts. To what a limit is lowered:
// calls/credit-limit.test.ts. That a charge covers every byte of a body: test/upstreams/precharge.test.ts.
describe('POST /v1/chat/completions', () => {
  const gateway = useGateway({}, ({ models }) => {
    const route = { upstream: 'sandbox', model: 'gpt-sandbox' }
    const tiered = { ...route, allow: ['service_tier'] }
    const chat = (id: string, more: object, upstreams: object[] = [route]) =>
      models.push({ id, modality: 'chat', pricing: BY_OUTPUT, upstreams, ...more })
    chat('agents', { defaultOutputTokens: 16_384, maxOutputTokens: 128_000 })
    chat('tiny', { defaultOutputTokens: 500 })
    chat('plain', { maxOutputTokens: 128_000 })
    chat('short', { maxOutputTokens: 100 })
    chat('tiered-chat', { pricing: BY_25 }, [{ ...route, model: 'refusing-gpt' }, tiered])
    chat('set-chat', { pricing: BY_25 }, [{ ...tiered, set: { service_tier: 'default' } }])
    chat('narrow-chat', { pricing: { ...BY_25, perTokens: 1 }, bytesPerToken: 1 })
  })

  it('answers in the specified form, settled on the real usage', async () => {
    const account = await gateway.account(1000)
    const asked = Math.floor(Date.now() / 1000)
    const reply = await account.chat(`Hello [usage 1500 500] [answer Good day]${' and'.repeat(400)}`)
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion', model: 'sandbox-chat' })
    expect(reply.json.id).to.be.a('string').that.is.not.empty
    expect(reply.json.created).to.be.within(asked, Date.now() / 1000)
    const [choice, ...others] = reply.json.choices
    expect(others).to.deep.equal([])
    expect(choice).to.include({ index: 0, finish_reason: 'stop' }).and.to.have.property('logprobs')
    expect(choice.message).to.include({ role: 'assistant', content: 'Good day' })
    const counts = { input_tokens: 1500, output_tokens: 500, prompt_tokens: 1500, completion_tokens: 500 }
    expect(reply.json.usage).to.include({ ...counts, total_tokens: 2000, credits: 3, balance: 997 })
    expect(reply.json.usage.completion_tokens_details).to.include({ reasoning_tokens: 0 })
    expect(await account.balance()).to.equal(997)
    expect(await gateway.record(reply)).to.include({
      status: 'succeeded',
      httpStatus: 200,
      errorType: null,
      model: 'sandbox-chat',
      modality: 'chat',
      credits: 3,
      creditsUncollected: 0,
      inputTokens: 1500,
      outputTokens: 500,
      upstream: 'sandbox',
      attempts: 1,
      count: 1,
    })
  })

  it("asks of an allowed field only the upstream that allows it, and the operator's value wins", async () => {
    const account = await gateway.account(10_000)
    for (const [model, tier, sent] of [
      ['tiered-chat', 'flex', 'flex'],
      ['set-chat', 'priority', 'default'],
    ]) {
      const prompt = prompted()
      expect((await account.chat(prompt, { model, service_tier: tier })).status).to.equal(200)
      const bodies = gateway.sandbox.journal(prompt).map(({ body }) => body as Record<string, unknown>)
      expect(bodies.map((body) => [body.model, body.service_tier])).to.deep.equal([['gpt-sandbox', sent]])
    }
    const refused = await account.chat('x', { service_tier: 'flex' })
    expect(refused.json.error).to.include({ type: 'invalid_request', param: 'service_tier' })
  })

  const LIMITS: [fields: object, limit: number, credits?: number][] = [
    [{ model: 'agents', stream: true }, 5000, 10_000],
    [{ model: 'agents', n: 2 }, 8000, 32_001],
    [{ model: 'plain' }, 1024],
    [{ model: 'tiny' }, 500],
    [{ model: 'short', max_tokens: 5000 }, 100],
    [{ model: 'plain', max_tokens: 7, max_completion_tokens: 5000 }, 7],
  ]
  for (const [fields, limit, credits = 100_000] of LIMITS)
    it(`sends and charges a limit of ${limit} for ${JSON.stringify(fields)} and ${credits} credits`, async () => {
      const account = await gateway.account(credits)
      const content = prompted()
      const reply = await account.chat(content, fields)
      expect(reply.status, reply.text).to.equal(200)
      const { body } = gateway.sandbox.journal(content).at(-1)!
      expect(body).to.include({ max_tokens: limit }).and.not.have.property('max_completion_tokens')
      if (!('max_tokens' in fields && fields.max_tokens) && !('max_completion_tokens' in fields))
        expect(reply.headers.get('x-max-output-tokens')).to.equal(String(limit))
      const choices = 'n' in fields ? 2 : 1
      expect((await gateway.record(reply)).creditsPrecharged).to.equal(limit * choices)
    })

  it('names the limit where a call is refused, and what is left of balance or budget, or the debt', async () => {
    const [poor, rich, owing] = [await gateway.account(120), await gateway.account(100_000), await gateway.account()]
    await changeKey(gateway.db, rich.keyId, { budget: { credits: 1, period: 'total' } })
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 30 })
    const ofBudget = '1 is left of the budget of this key.'
    for (const [asked, message] of [
      [
        () => poor.chat('x', { model: 'agents' }),
        'This call reserves 16384 credits (max_tokens 16384); 120 are left. ' +
          'Ask for less with a lower max_tokens. Nothing was charged.',
      ],
      [
        () => rich.chat('x', { model: 'agents', max_tokens: 4, n: 2 }),
        `This call reserves 8 credits (max_tokens 4, n 2); ${ofBudget}`,
      ],
      [() => rich.image('x'), `This call reserves 40 credits; ${ofBudget} Nothing was charged.`],
      [
        () => owing.chat('x', { model: 'agents' }),
        'This account owes 30 credits for earlier calls, which the next credits repay. Nothing was charged.',
      ],
    ] as const) {
      const { status, json } = await asked()
      expect(status).to.equal(402)
      expect(json.error.message).to.include(message)
    }
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 0 })
  })

  // Its chunks, its usage and a client that disconnects, over every protocol: test/upstreams/sdk-streams.test.ts.
  describe('streamed', () => {
    const account = useAccount(gateway, 10_000)

    const streamed = (content: string, more: object = {}) => account.chat(content, { stream: true, ...more })

    it('is answered 202 with its id if its process stops before its first chunk, and can be fetched', async () => {
      const stopping = await startTestWeb(gateway.config)
      await gateway.stopWorker()
      const waiting = chat(stopping, account, prompted('[answer one two]'), { stream: true })
      await until('it to be charged', async () => (await account.balance()) < 10_000)
      const [reply] = await Promise.all([waiting, stopping.stop()])
      expect(reply.status, reply.text).to.equal(202)
      expect(reply.json).to.include({ ok: true, id: reply.headers.get('x-call-id') })
      await gateway.startWorker()
      const fetched = await account.get(`${reply.headers.get('location')}?wait=60`)
      expect([fetched.status, fetched.json.choices[0].message.content]).to.deep.equal([200, 'one two'])
    })

    for (const [what, more, words, end] of [
      ['several choices', { n: 3 }, '[answer one two three]', 'stop'],
      ['a tool', { tools: [WEATHER] }, '[tool]', 'tool_calls'],
    ] as const)
      it(`has a choice in every chunk, for loops that read choices[0], and usage in the last: ${what}`, async () => {
        const reply = await streamed(prompted(words), more)
        expect(reply.headers.get('cache-control')).to.equal('no-store')
        const chunks = chunksOf(reply.text)
        expect(chunks.every(({ choices }) => typeof choices[0]?.delta === 'object')).to.equal(true)
        expect(chunks.filter(({ usage }) => usage)).to.deep.equal(chunks.slice(-1))
        expect(chunks.at(-1)!.choices[0].finish_reason).to.equal(end)
        if ('n' in more) for (const index of [0, 1, 2]) expect(textOf(chunks, index)).to.equal('one two three')
        const refused = chunksOf(
          (await streamed(prompted(words), { ...more, stream_options: { include_usage: false } })).text,
        )
        expect(refused.every(({ choices }) => choices.length > 0)).to.equal(true)
      })

    it('comes as it is produced, not at the end', async () => {
      const content = prompted('[answer a b c d e f] [hold]')
      const response = await begin(`${gateway.url}${CHAT}`, account.key, chatBody(content, { stream: true }))
      const reader = response.body!.getReader()
      await reader.read()
      expect(gateway.sandbox.open(content).streams, 'the upstream still speaks').to.equal(1)
      gateway.sandbox.release(content)
      for (let end = false; !end;) end = (await reader.read()).done
    })

    it('reports an upstream that breaks off as a data line with error, is refunded, and never sent again', async () => {
      const content = prompted('[answer a b c d e f] [reset-after 3]')
      const reply = await streamed(content)
      expect(reply.status).to.equal(200)
      const { error } = chunksOf(reply.text).at(-1)!
      expect(error).to.include({ type: 'upstream_failed', code: 'upstream_failed', param: null })
      expect(reply.text).not.to.include('[DONE]')
      expect(await account.balance()).to.equal(10_000)
      expect(await gateway.record(reply)).to.include({ status: 'failed', httpStatus: 502, credits: 0 })
      expect(gateway.sandbox.journal(content).length).to.equal(1)
      const fetched = await account.get(`/v1/calls/${reply.headers.get('x-call-id')}`)
      expect([fetched.status, fetched.json.error]).to.deep.equal([502, error])
    })
  })
})
