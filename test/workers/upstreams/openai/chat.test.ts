import { expect } from 'chai'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatAdapter } from '../../../../src/workers/upstreams/adapter.ts'
import { chatOf, choiceOf, contextOf, drained, failureOf, promptOf, routeTo, startWorld } from '../sandbox-upstreams.ts'
import type { RouteChanges, World } from '../sandbox-upstreams.ts'

describe('a chat request to an OpenAI-compatible upstream', () => {
  let world: World
  let chat: ChatAdapter
  before(async () => {
    world = await startWorld()
    chat = world.upstreams.adapterOf('openai').chat!
  })
  after(() => world.close())

  const sent = async (more: Record<string, unknown>, changes?: RouteChanges) => {
    const prompt = promptOf('sent')
    const request = chatOf(prompt, more)
    if (request.stream) await drained((take) => chat.streamChat(request, world.context('openai', changes), take))
    else await chat.chat(request, world.context('openai', changes))
    return world.sandbox.journal(prompt)[0]!.body as Record<string, unknown>
  }

  it("has every listed field, the upstream's name of the model, and what the route allows", async () => {
    const listed = { model: 'ours', temperature: 0.3, seed: 7, logit_bias: { 1: 2 } }
    const further = { service_tier: 'flex', something_new: { deep: [1] } }
    expect(await sent({ ...listed, ...further }))
      .to.deep.include({ ...listed, model: 'some/model', max_tokens: 100 })
      .and.not.to.have.any.keys(further)
    expect(await sent({ ...listed, ...further }, { allow: ['service_tier'] }))
      .to.include({ service_tier: 'flex' })
      .and.not.to.have.property('something_new')
    expect(await sent(further, { allow: ['service_tier'], set: { service_tier: 'default' } })).to.include({
      service_tier: 'default',
    })
  })

  it('never allows more output than was paid for, by either name', async () => {
    expect(await sent({ max_completion_tokens: 100_000 }))
      .to.include({ max_tokens: 100 })
      .and.not.to.have.property('max_completion_tokens')
    const renamed = await sent({ max_completion_tokens: 100_000 }, { rename: { max_tokens: 'max_completion_tokens' } })
    expect(renamed).to.include({ max_completion_tokens: 100 }).and.not.to.have.property('max_tokens')
  })

  it('requests the usage of a stream, even if the client does not', async () => {
    const body = await sent({ stream: true, stream_options: { include_usage: false, include_obfuscation: false } })
    expect(body).to.deep.include({ stream: true, stream_options: { include_usage: true, include_obfuscation: false } })
    expect(await sent({ stream_options: { include_usage: true } }))
      .to.include({ stream: false })
      .and.not.to.have.property('stream_options')
  })

  it('is changed by the route for models that reason', async () => {
    const changes = {
      model: 'reasoning-1',
      rename: { max_tokens: 'max_completion_tokens' },
      drop: ['temperature', 'top_p'],
      set: { reasoning_effort: 'low' },
    }
    expect(await sent({ temperature: 1, top_p: 1 }, changes)).to.include({
      max_completion_tokens: 100,
      reasoning_effort: 'low',
    })
  })

  it('keeps unknown fields of the answer, also within choices', async () => {
    const { answer } = await chat.chat(chatOf('hello'), world.context('openai'))
    expect(answer).to.include({ service_tier: 'default', system_fingerprint: 'fp_sandbox', model: 'some/model' })
    expect((answer.choices as object[])[0]).to.have.property('logprobs', null)
  })

  it('returns all choices', async () => {
    const { answer } = await chat.chat(chatOf('hello', { n: 3 }), world.context('openai'))
    expect((answer.choices as { index: number }[]).map(({ index }) => index)).to.deep.equal([0, 1, 2])
  })

  it("is settled only on token counts: the upstream's prices concern only the operator", async () => {
    const { usage } = await chat.chat(chatOf('hello'), world.context('openrouter'))
    expect(usage).to.have.all.keys(
      'input',
      'output',
      'total',
      'cached',
      'written',
      'cachesApart',
      'repeated',
      'reasoning',
      'costMicroUsd',
    )
  })
})

describe('an irregular answer of an OpenAI-compatible upstream', () => {
  let server: Server
  let world: World
  let reply: { type?: string; body: string }
  const chat = () => world.upstreams.adapterOf('openai').chat!
  const context = () => contextOf(routeTo('openai', `http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  const whole = (answer: unknown) => {
    reply = { body: JSON.stringify(answer) }
    return chat().chat(chatOf('x'), context())
  }
  const streamed = (...events: unknown[]) => {
    const lines = events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    reply = { type: 'text/event-stream', body: lines.join('') }
    return drained((take) => chat().streamChat(chatOf('x'), context(), take))
  }

  before(async () => {
    world = await startWorld()
    server = createServer((req, res) => {
      req.resume()
      res.writeHead(200, { 'content-type': reply.type ?? 'application/json' }).end(reply.body)
    }).listen(0)
  })
  after(async () => {
    await world.close()
    server.close()
  })

  const message = { role: 'assistant', content: 'hi' }
  const chunk = (delta: unknown, finish: string | null = null, more = {}) => ({
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })

  it('is completed if only formalities are missing', async () => {
    const result = await whole({ choices: [{ message: { content: 'hi' } }] })
    expect(result.answer).to.include({ object: 'chat.completion' })
    expect(result.answer.id).to.match(/^chatcmpl-/)
    expect(choiceOf(result)).to.deep.include({ index: 0, message, finish_reason: 'stop' })
    expect(result.usage).to.equal(null)
  })

  const NONSENSE: [what: string, answer: unknown][] = [
    ['a list', []],
    ['a text', 'hello'],
    ['null', null],
    ['choices that are no list', { choices: { 0: { message } } }],
    ['a choice without message', { choices: [{}] }],
    ['a message that is a list', { choices: [{ message: [] }] }],
    ['a content that is a number', { choices: [{ message: { content: 5 } }] }],
  ]
  for (const [what, answer] of NONSENSE) {
    it(`is unknown if it is ${what}`, async () => {
      expect(await failureOf(whole(answer))).to.include({ kind: 'unknown' })
    })
  }

  it('is the error that it contains, even with status 200', async () => {
    expect(await failureOf(whole({ error: { code: 429, message: 'slow' } }))).to.include({ kind: 'rate_limited' })
    expect(await failureOf(whole({ error: { code: 502, message: 'down' } }))).to.include({ kind: 'unknown' })
    expect(await failureOf(whole({ error: { type: 'insufficient_quota' } }))).to.include({
      kind: 'not_served',
      code: 'insufficient_quota',
    })
  })

  const USAGES: [usage: unknown, reports: boolean][] = [
    [{ prompt_tokens: 0, completion_tokens: 0 }, false],
    [{ prompt_tokens: 10_000_000, completion_tokens: 1 }, true],
    [{ prompt_tokens: 1.5, completion_tokens: 1 }, true],
    [{ prompt_tokens: '1', completion_tokens: -1 }, false],
    [{ prompt_tokens: 1 }, true],
    [{ input_tokens: 1, output_tokens: 2 }, true],
    ['lots', false],
  ]
  for (const [usage, reports] of USAGES) {
    it(`${reports ? 'reports' : 'does not report'} what it has used: ${JSON.stringify(usage)}`, async () => {
      expect((await whole({ choices: [{ message }], usage })).usage !== null).to.equal(reports)
    })
  }

  it('can be a stream with usage in every chunk', async () => {
    const usage = (output: number) => ({ usage: { prompt_tokens: 1, completion_tokens: output } })
    const { events } = await streamed(
      chunk({ content: 'a' }, null, usage(1)),
      chunk({ content: 'b' }, 'stop', usage(2)),
      '[DONE]',
    )
    expect(events.map(({ type }) => type)).to.deep.equal(['frame', 'usage', 'frame', 'usage'])
    expect(events.at(-1)).to.deep.nested.include({ 'usage.output': 2 })
  })

  it('can be a stream whose first chunk has no choices, which is omitted', async () => {
    const { events, error } = await streamed(
      { choices: [], prompt_filter_results: [] },
      chunk({ content: 'a' }, 'stop'),
      '[DONE]',
    )
    expect([error, events.length]).to.deep.equal([null, 1])
  })

  it('is complete if it ends with the last finish_reason or with [DONE], otherwise cut off', async () => {
    expect((await streamed(chunk({ content: 'a' }), '[DONE]')).error).to.equal(null)
    expect((await streamed(chunk({ content: 'a' }), chunk({}, 'stop'))).error).to.equal(null)
    expect((await streamed(chunk({ content: 'a' }))).error).to.include({ kind: 'unknown' })
    const second = { choices: [{ index: 1, delta: { content: 'b' }, finish_reason: null }] }
    expect((await streamed(second, chunk({ content: 'a' }, 'stop'))).error).to.include({ kind: 'unknown' })
    expect((await streamed('[DONE]')).error).to.include({ kind: 'unknown' })
  })

  it('is unknown if a chunk has no valid choice, or one with a huge index', async () => {
    const huge = { choices: [{ index: 4_000_000_000, delta: {} }] }
    expect((await streamed(huge, '[DONE]')).error).to.include({ kind: 'unknown' })
    expect((await streamed({ choices: [{ index: -1, delta: {} }] }, '[DONE]')).error).to.include({ kind: 'unknown' })
    expect((await streamed({ choices: ['x'] }, chunk({}, 'stop'))).error).to.include({ kind: 'unknown' })
  })

  it('can lack the blank line after its last event', async () => {
    reply = { type: 'text/event-stream', body: `data: ${JSON.stringify(chunk({ content: 'a' }))}\n\ndata: [DONE]` }
    expect((await drained((take) => chat().streamChat(chatOf('x'), context(), take))).error).to.equal(null)
  })
})
