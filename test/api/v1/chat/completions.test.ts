import { expect } from 'chai'
import { anAccount, balanceOf } from '../../../../scripts/harness/factories.ts'
import { CHAT, chat, chatBody, movementsOf, prompted, recordOf } from '../../../../scripts/harness/calling.ts'
import { post } from '../../../../scripts/harness/http.ts'
import { useGateway } from '../../../support/gateway.ts'

describe('POST /v1/chat/completions', () => {
  const gateway = useGateway({}, ({ models }) => {
    models.push(
      {
        id: 'short-chat',
        modality: 'chat',
        maxOutputTokens: 100,
        pricing: { input: 0, output: 1, perTokens: 1, minimum: 1 },
        upstreams: [{ upstream: 'sandbox', model: 'gpt-sandbox' }],
      },
      {
        id: 'reasoning-chat',
        modality: 'chat',
        pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 },
        upstreams: [
          {
            upstream: 'sandbox',
            model: 'reasoning-sandbox',
            rename: { max_tokens: 'max_completion_tokens' },
            drop: ['temperature'],
            set: { reasoning_effort: 'low' },
          },
        ],
      },
    )
  })

  it('answers in the specified form, settled on the real usage', async () => {
    const account = await anAccount(gateway.db, 1000)
    const asked = Math.floor(Date.now() / 1000)
    const reply = await chat(gateway, account, `Hello [usage 1500 500] [answer Good day]${' and'.repeat(400)}`)
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion', model: 'sandbox-chat' })
    expect(reply.json.id).to.be.a('string').that.is.not.empty
    expect(reply.json.created).to.be.within(asked, Date.now() / 1000)
    expect(reply.json.choices).to.have.lengthOf(1)
    expect(reply.json.choices[0]).to.deep.include({ index: 0, finish_reason: 'stop' })
    expect(reply.json.choices[0].message).to.include({ role: 'assistant', content: 'Good day' })
    expect(reply.json.usage).to.include({
      input_tokens: 1500,
      output_tokens: 500,
      prompt_tokens: 1500,
      completion_tokens: 500,
      total_tokens: 2000,
      credits: 3,
      balance: 997,
    })
    expect(await balanceOf(gateway.db, account.id)).to.equal(997)
    expect(await recordOf(gateway.db, reply)).to.include({
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

  it("pre-charges a third of the body's bytes and all of max_tokens, then gives back the rest", async () => {
    const account = await anAccount(gateway.db, 100_000)
    const body = chatBody(`${'é'.repeat(3000)} [usage 10 4]`, { model: 'dear-chat', max_tokens: 2 })
    const reply = await post(`${gateway.url}${CHAT}`, account.key, body)
    const estimate = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 3) + 2 * 2
    expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${estimate}`, `settlement ${estimate - 18}`])
    expect(reply.json.usage).to.include({ credits: 18, balance: 99_982 })
    expect((await recordOf(gateway.db, reply)).creditsPrecharged).to.equal(estimate)
  })

  it('requests only the output that was paid: 1024 tokens by default, at most what the model allows', async () => {
    const account = await anAccount(gateway.db, 100_000)
    for (const [more, expected] of [
      [{}, 1024],
      [{ max_tokens: 7 }, 7],
      [{ max_completion_tokens: 8 }, 8],
      [{ max_tokens: 7, max_completion_tokens: 5000 }, 7],
      [{ model: 'short-chat' }, 100],
      [{ model: 'short-chat', max_tokens: 5000 }, 100],
      [{ max_tokens: null }, 1024],
    ] as const) {
      const prompt = prompted()
      expect((await chat(gateway, account, prompt, more)).status).to.equal(200)
      expect(gateway.sandbox.journal(prompt)[0]!.body, JSON.stringify(more))
        .to.include({ max_tokens: expected })
        .and.not.to.have.property('max_completion_tokens')
    }
  })

  it('charges a settlement above the pre-charge, down to a balance of zero', async () => {
    const account = await anAccount(gateway.db, 30)
    const paid = await chat(gateway, account, '[usage 0 40]', { model: 'short-chat', max_tokens: 20 })
    expect(paid.json.usage).to.include({ credits: 30, balance: 0 })
    expect(await recordOf(gateway.db, paid)).to.include({ credits: 30, creditsPrecharged: 20, creditsUncollected: 10 })
    expect(await movementsOf(gateway.db, paid)).to.deep.equal(['charge -20', 'settlement -10'])
  })

  for (const words of ['[no-usage]', '[usage-negative]', '[usage-huge]']) {
    it(`is settled on the gateway's own count where the upstream's usage cannot be believed: ${words}`, async () => {
      const account = await anAccount(gateway.db, 100_000)
      const reply = await chat(gateway, account, `hi ${words} [answer one two three]`, {
        model: 'dear-chat',
        max_tokens: 50,
      })
      expect(reply.status, reply.text).to.equal(200)
      const { input_tokens: input, output_tokens: output, credits } = reply.json.usage
      expect(input).to.be.within(1, 100)
      expect(output).to.be.within(1, 100)
      expect(credits).to.equal(input + 2 * output)
    })
  }

  it('passes tools on and their calls back, and keeps what else the upstream says', async () => {
    const account = await anAccount(gateway.db, 1000)
    const tools = [
      {
        type: 'function',
        function: {
          name: 'weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ]
    const prompt = prompted('[tool weather]')
    const reply = await chat(gateway, account, prompt, { tools, tool_choice: 'auto' })
    expect(reply.json.choices[0]).to.include({ finish_reason: 'tool_calls' })
    expect(reply.json.choices[0].message.tool_calls[0].function.name).to.equal('weather')
    expect(reply.json.choices[0]).to.have.property('logprobs')
    expect(reply.json.usage.completion_tokens_details).to.include({ reasoning_tokens: 0 })
    expect(gateway.sandbox.journal(prompt)[0]!.body).to.deep.include({ tools, tool_choice: 'auto' })
    const { id } = reply.json.choices[0].message.tool_calls[0]
    const next = await post(`${gateway.url}${CHAT}`, account.key, {
      model: 'sandbox-chat',
      tools,
      messages: [
        { role: 'user', content: 'x' },
        reply.json.choices[0].message,
        { role: 'tool', tool_call_id: id, content: 'sunny' },
      ],
    })
    expect(next.status, next.text).to.equal(200)
  })

  it('changes the request as the catalogue says: renamed, dropped and fixed fields', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    const reply = await chat(gateway, account, prompt, { model: 'reasoning-chat', temperature: 1 })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.model).to.equal('reasoning-chat')
    expect(gateway.sandbox.journal(prompt)[0]!.body).to.deep.equal({
      model: 'reasoning-sandbox',
      stream: false,
      messages: [{ role: 'user', content: prompt }],
      max_completion_tokens: 1024,
      reasoning_effort: 'low',
    })
  })

  it('sends the upstream the fields unchanged, except for those of the gateway', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    const more = {
      response_format: { type: 'json_object' },
      seed: 7,
      logit_bias: { 50: 1 },
      metadata: { a: ['b', null] },
      temperature: 0.5,
      stop: ['x'],
    }
    const reply = await chat(gateway, account, prompt, { max_completion_tokens: 77, ...more })
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.journal(prompt)[0]!.body).to.deep.equal({
      model: 'gpt-sandbox',
      messages: [{ role: 'user', content: prompt }],
      max_tokens: 77,
      stream: false,
      ...more,
    })
  })

  it("sends the upstream its own key, never the caller's, and the call's id", async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    const reply = await chat(gateway, account, prompt)
    const { headers } = gateway.sandbox.journal(prompt)[0]!
    expect(JSON.stringify(headers)).not.to.include(account.key)
    expect(headers['idempotency-key']).to.equal(reply.headers.get('x-call-id'))
  })
})
