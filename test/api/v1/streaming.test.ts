import { expect } from 'chai'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { begin, get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { CHAT, chat, chatBody, movementsOf, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { chunksOf, textOf } from './support/chunks.ts'
import type { Chunk } from './support/chunks.ts'

describe('a streamed chat', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 10_000)

  const streamed = (content: string, more: object = {}) => chat(gateway, account, content, { stream: true, ...more })

  it('is answered 202 with its id if its process stops before its first chunk, and can be fetched', async () => {
    const stopping = await startTestWeb(gateway.config)
    await gateway.stopWorker()
    const waiting = chat(stopping, account, prompted('[answer one two]'), { stream: true })
    await until('it to be charged', async () => (await balanceOf(gateway.db, account.id)) < 10_000)
    const [reply] = await Promise.all([waiting, stopping.stop()])
    expect(reply.status, reply.text).to.equal(202)
    expect(reply.json).to.include({ ok: true, id: reply.headers.get('x-call-id') })
    await gateway.startWorker()
    const fetched = await get(`${gateway.url}${reply.headers.get('location')}?wait=60`, account.key)
    expect([fetched.status, fetched.json.choices[0].message.content]).to.deep.equal([200, 'one two'])
  })

  it("comes in OpenAI's chunks, the last of which has usage and credits, then [DONE]", async () => {
    const reply = await streamed(prompted(`[answer one two three] [usage 1500 500]${' and'.repeat(400)}`))
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('content-type')).to.match(/^text\/event-stream/)
    expect(reply.headers.get('cache-control')).to.equal('no-store')
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    const chunks = chunksOf(reply.text)
    for (const chunk of chunks) {
      expect(chunk).to.include({ object: 'chat.completion.chunk', model: 'sandbox-chat', id: chunks[0]!.id })
      expect(chunk.created).to.be.a('number')
      expect(chunk.choices).to.be.an('array')
    }
    expect(textOf(chunks)).to.equal('one two three')
    expect(chunks[0]!.choices[0].delta.role).to.equal('assistant')
    expect(
      chunks.filter((chunk) => chunk.choices[0]?.finish_reason).map((chunk) => chunk.choices[0].finish_reason),
    ).to.deep.equal(['stop'])
    expect(chunks.at(-1)!.usage).to.include({
      input_tokens: 1500,
      output_tokens: 500,
      prompt_tokens: 1500,
      completion_tokens: 500,
      total_tokens: 2000,
      credits: 3,
      balance: 9997,
    })
    expect(chunks.slice(0, -1).filter((chunk) => chunk.usage)).to.deep.equal([])
    expect(chunks.at(-1)!.choices[0]).to.include({ index: 0, finish_reason: 'stop' })
    expect(await recordOf(gateway.db, reply)).to.include({
      status: 'succeeded',
      credits: 3,
      inputTokens: 1500,
      outputTokens: 500,
    })
  })

  for (const [what, more] of Object.entries({
    'one choice': {},
    'several choices': { n: 3 },
    'a tool': { tools: [{ type: 'function', function: { name: 'weather' } }] },
  })) {
    it(`has a choice in every chunk, for loops that read choices[0]: ${what}`, async () => {
      const words = what === 'a tool' ? '[tool]' : '[answer one two three]'
      const chunks = chunksOf((await streamed(prompted(words), more)).text)
      expect(chunks.every(({ choices }) => choices.length > 0 && typeof choices[0].delta === 'object')).to.equal(true)
      expect(chunks.filter(({ usage }) => usage)).to.deep.equal(chunks.slice(-1))
      expect(chunks.at(-1)!.choices[0].finish_reason).to.equal(what === 'a tool' ? 'tool_calls' : 'stop')
      const options = { stream_options: { include_usage: false } }
      const refused = chunksOf((await streamed(prompted(words), { ...more, ...options })).text)
      expect(refused.every(({ choices }) => choices.length > 0)).to.equal(true)
    })
  }

  it('has its usage in a chunk of its own, without choices, only where the client asks for that', async () => {
    const options = { stream_options: { include_usage: true } }
    const chunks = chunksOf((await streamed(prompted('[answer one two]'), options)).text)
    expect(chunks.at(-1)).to.deep.include({ choices: [] })
    expect(chunks.filter(({ usage }) => usage)).to.deep.equal(chunks.slice(-1))
    expect(chunks.at(-2)!.choices[0].finish_reason).to.equal('stop')
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

  it('has every choice, every tool call and every character of any script', async () => {
    const several = chunksOf((await streamed(prompted('[answer x y]'), { n: 3 })).text)
    expect([0, 1, 2].map((index) => textOf(several, index))).to.deep.equal(['x y', 'x y', 'x y'])
    const wide = chunksOf((await streamed(prompted('[cut-mid-char] [answer ok] [chunks 40 0]'))).text)
    expect(textOf(wide)).to.equal('Grüße, 你好 und 😀: ok')
    const tools = [
      {
        type: 'function',
        function: {
          name: 'weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ]
    const reply = await streamed(prompted('[tool]'), { tools })
    const calls = chunksOf(reply.text).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
    expect(calls[0].function.name).to.equal('weather')
    const fetched = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
    const whole = fetched.json.choices[0].message.tool_calls[0].function
    expect(whole).to.deep.equal({
      name: 'weather',
      arguments: calls.map((call: Chunk) => call.function.arguments).join(''),
    })
  })

  it('is complete even if the upstream does not send [DONE]', async () => {
    const reply = await streamed(prompted('[no-done] [answer fine]'))
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect(textOf(chunksOf(reply.text))).to.equal('fine')
  })

  for (const [what, words] of [
    ['an error', '[error-after 3]'],
    ['a reset', '[reset-after 3]'],
    ['an end in the middle', '[truncated]'],
  ] as const) {
    it(`reports ${what} of the upstream after its first chunk as a data line with error, and is refunded`, async () => {
      const content = prompted(`[answer a b c d e f] ${words}`)
      const reply = await streamed(content)
      expect(reply.status).to.equal(200)
      const chunks = chunksOf(reply.text)
      expect(chunks.at(-1)!.error).to.include({ type: 'upstream_failed', code: 'upstream_failed', param: null })
      expect(reply.text).not.to.include('[DONE]')
      expect(await balanceOf(gateway.db, account.id)).to.equal(10_000)
      expect(await recordOf(gateway.db, reply)).to.include({ status: 'failed', httpStatus: 502, credits: 0 })
      expect(gateway.sandbox.journal(content).length, 'never sent a second time').to.equal(1)
      const fetched = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
      expect([fetched.status, fetched.json.error]).to.deep.equal([502, chunks.at(-1)!.error])
    })
  }

  it("that falls silent is ended at the call's deadline, and paid up to there", async () => {
    const reply = await streamed(prompted('[answer a b c d] [hang-after 2]'), { model: 'hasty-chat' })
    const chunks = chunksOf(reply.text)
    expect(textOf(chunks)).to.equal('a b')
    expect(chunks.at(-1)!.choices[0].finish_reason).to.equal('length')
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect(await balanceOf(gateway.db, account.id))
      .to.equal(10_000 - chunks.at(-1)!.usage.credits)
      .and.to.be.below(10_000)
  })

  describe('whose client disconnects', () => {
    /** Reads a stream until it has a piece of the answer, and disconnects. */
    async function leaveWithin(content: string, more: object = {}): Promise<string> {
      const leaving = new AbortController()
      const response = await begin(`${gateway.url}${CHAT}`, account.key, chatBody(content, { stream: true, ...more }), {
        signal: leaving.signal,
      })
      const reader = response.body!.getReader()
      for (let text = ''; !/"content":"[^"]/.test(text);) text += Buffer.from((await reader.read()).value!).toString()
      leaving.abort()
      return response.headers.get('x-call-id')!
    }

    it("ends the upstream's work, and is settled on what was produced", async () => {
      const content = prompted('[hold] [tokens 200]')
      const id = await leaveWithin(content, { model: 'dear-chat', max_tokens: 1000 })
      await until('the upstream to notice', () => gateway.sandbox.open(content).aborted === 1)
      const reply = await get(`${gateway.url}/v1/calls/${id}?wait=60`, account.key)
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.choices[0].finish_reason).to.equal('cancelled')
      expect(reply.json.choices[0].message.content).to.be.a('string').that.is.not.empty
      const { input_tokens: input, output_tokens: output, credits, balance } = reply.json.usage
      expect(credits).to.equal(input + 2 * output)
      expect(credits).to.be.within(1, 1000)
      expect(await balanceOf(gateway.db, account.id)).to.equal(balance)
      expect(await recordOf(gateway.db, reply)).to.include({ status: 'succeeded', credits })
      expect(await movementsOf(gateway.db, reply)).to.have.lengthOf(2)
    })
  })

  it('is complete and in order for each of many concurrent readers', async () => {
    const contents = Array.from({ length: 30 }, (_, at) =>
      prompted(`[chunks 20 2] [answer ${Array.from({ length: 40 }, (__, word) => `w${at}-${word}`).join(' ')}]`),
    )
    const replies = await Promise.all(contents.map((content) => streamed(content)))
    replies.forEach((reply, at) => {
      expect(textOf(chunksOf(reply.text))).to.equal(Array.from({ length: 40 }, (_, word) => `w${at}-${word}`).join(' '))
      expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    })
  })
})
