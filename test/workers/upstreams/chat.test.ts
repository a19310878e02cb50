import { expect } from 'chai'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { ChatAdapter, FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import {
  chatOf,
  choiceOf,
  choicesOf,
  contextOf,
  drained,
  failureOf,
  HASTY,
  promptOf,
  routeTo,
  useWorld,
  textOf,
} from './sandbox-upstreams.ts'

const PROTOCOLS: Protocol[] = ['openai', 'anthropic', 'responses', 'gemini', 'openrouter']

/**
 * The outcome of a chat with a steering word, whole or streamed; null: it succeeds. For each status: failures.test.ts.
 */
const OUTCOMES: [words: string, whole: FailureKind | null, streamed: FailureKind | null][] = [
  ['[status 400]', 'rejected', 'rejected'],
  ['[quota]', 'not_served', 'not_served'],
  ['[redirect http://127.0.0.1:1/]', 'rejected', 'rejected'],
  ['[status 429]', 'rate_limited', 'rate_limited'],
  ['[status 503]', 'overloaded', 'overloaded'],
  ['[status 500]', 'unknown', 'unknown'],
  ['[reset]', 'unknown', 'unknown'],
  ['[refuse]', 'unknown', 'unknown'],
  ['[garbage]', 'unknown', 'unknown'],
  ['[truncated]', 'unknown', 'unknown'],
  ['[empty]', 'unknown', 'unknown'],
  ['[invalid-utf8]', null, null],
  ['[cut-mid-char]', null, null],
  ['[no-done]', null, null],
  ['[delay 30]', null, null],
]

for (const protocol of PROTOCOLS) {
  describe(`chat over ${protocol}`, () => {
    const world = useWorld()
    let chat: ChatAdapter
    before(() => {
      chat = world.upstreams.adapterOf(protocol).chat!
    })

    it("returns the whole answer in OpenAI's form, with the real usage", async () => {
      const asked = Math.floor(Date.now() / 1000)
      const result = await chat.chat(chatOf('[answer Good morning] [usage 12 34]'), world.context(protocol))
      expect(result.answer).to.include({ object: 'chat.completion' }).and.not.to.have.property('usage')
      expect(result.answer.id).to.be.a('string').that.is.not.empty
      expect(result.answer.created).to.be.within(asked, Date.now() / 1000)
      expect(choiceOf(result)).to.deep.include({ index: 0, finish_reason: 'stop' })
      expect(choiceOf(result).message).to.include({ role: 'assistant', content: 'Good morning' })
      expect(result.usage).to.include({ input: 12, output: 34 })
    })

    it('streams the same answer in chunks, and its usage at the end', async () => {
      const { events, error } = await drained((take) =>
        chat.streamChat(chatOf('[answer Good morning to you] [usage 12 34]'), world.context(protocol), take),
      )
      expect(error).to.equal(null)
      expect(textOf(events)).to.equal('Good morning to you')
      expect(events.findLast(({ type }) => type === 'usage')).to.deep.nested.include({
        type: 'usage',
        'usage.input': 12,
        'usage.output': 34,
      })
      const chunks = events.flatMap((event) => (event.type === 'frame' ? [event.frame] : []))
      for (const chunk of chunks)
        expect(chunk).to.include({ object: 'chat.completion.chunk' }).and.not.to.have.property('usage')
      expect(choicesOf(events)[0]!.delta.role).to.equal('assistant')
      expect(
        choicesOf(events)
          .map((choice) => choice.finish_reason)
          .filter(Boolean),
      ).to.deep.equal(['stop'])
    })

    for (const [words, whole, streamed] of OUTCOMES) {
      it(`${whole === null ? 'succeeds' : `fails as ${whole}`} when the upstream does ${words}`, async () => {
        const request = chatOf(promptOf(words))
        const { error } = await drained((take) => chat.streamChat(request, world.context(protocol), take))
        expect(error?.kind ?? null, 'streamed').to.equal(streamed)
        const failed = await chat.chat(request, world.context(protocol)).then(
          () => null,
          (one: unknown) => one,
        )
        expect((failed as { kind?: string } | null)?.kind ?? null, 'whole').to.equal(whole)
      })
    }

    for (const words of ['[error-after 2]', '[reset-after 2]']) {
      it(`fails after the chunks so far when the stream ends by ${words}`, async () => {
        const { events, error } = await drained((take) =>
          chat.streamChat(chatOf(`${words} [chunks 5 1]`), world.context(protocol), take),
        )
        expect(events.length).to.be.greaterThan(0)
        expect(error?.kind).to.be.oneOf(['unknown', 'overloaded'])
      })
    }

    it('disconnects at once when its signal aborts, before and within a stream', async () => {
      const prompt = promptOf('[chunks 50 20]')
      const leaving = new AbortController()
      const context = world.context(protocol, {}, leaving.signal)
      const seen: unknown[] = []
      const failure = await failureOf(
        chat.streamChat(chatOf(prompt), context, (event) => {
          seen.push(event)
          leaving.abort()
        }),
      )
      expect(failure.kind).to.equal('aborted')
      expect(await failureOf(chat.chat(chatOf(prompt), context))).to.have.property('kind', 'aborted')
      await until('the upstream to notice', () => world.sandbox.open(prompt).aborted >= 1)
    })

    it("closes the upstream's stream when its reader throws", async () => {
      const prompt = promptOf('[chunks 50 20]')
      const enough = new Error('enough')
      const reading = chat.streamChat(chatOf(prompt), world.context(protocol), () => {
        throw enough
      })
      expect(await reading.catch((error: unknown) => error)).to.equal(enough)
      await until('the upstream to notice', () => world.sandbox.open(prompt).aborted >= 1)
    })

    it("sends the key, the call's id and the trace context", async () => {
      const prompt = promptOf('headers')
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const context = world.context(protocol, { upstream: { headers: { 'X-Title': 'Tollgate' } } })
      await chat.chat(chatOf(prompt), { ...context, traceparent })
      expect(world.sandbox.journal(prompt)[0]!.headers).to.include({
        'idempotency-key': 'call_test',
        traceparent,
        'x-title': 'Tollgate',
      })
      const wrongKey = world.context(protocol, { upstream: { apiKey: 'a-bad-one' } })
      const status = protocol === 'gemini' ? 400 : 401
      expect(await failureOf(chat.chat(chatOf(prompt), wrongKey))).to.deep.include({
        kind: 'not_served',
        keyFault: 'refused',
        status,
      })
    })
  })
}

describe('chat with a silent upstream', () => {
  const world = useWorld({ timeouts: HASTY })

  it('times out before the headers, within the body and within a stream', async () => {
    const failures = await Promise.all(
      PROTOCOLS.flatMap((protocol) => {
        const chat = world.upstreams.adapterOf(protocol).chat!
        const ask = (words: string) => chatOf(promptOf(words))
        return [
          failureOf(chat.chat(ask('[hang]'), world.context(protocol))),
          failureOf(chat.chat(ask('[hang-body]'), world.context(protocol))),
          ...['[hang]', '[hang-body]', '[hang-after 1] [chunks 5 1]'].map(
            async (words) =>
              (await drained((take) => chat.streamChat(ask(words), world.context(protocol), take))).error,
          ),
        ]
      }),
    )
    expect(failures).to.have.length(5 * PROTOCOLS.length)
    for (const failure of failures) expect(failure).to.include({ kind: 'unknown' })
  })

  it('knows that nothing was sent if nothing listens, the host is unknown, or TLS fails', async () => {
    const chat = world.upstreams.adapterOf('openai').chat!
    const addresses = ['http://127.0.0.1:1', 'http://nobody.invalid', world.sandbox.url.replace('http:', 'https:')]
    const failures = await Promise.all(
      addresses.map((url) => failureOf(chat.chat(chatOf('x'), contextOf(routeTo('openai', url))))),
    )
    expect(failures.map(({ kind }) => kind)).to.deep.equal(['not_sent', 'not_sent', 'not_sent'])
  })
})
