import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { addDialects } from './support/responses.ts'

const user = (content: string) => [{ role: 'user', content }]

/** How each dialect asks and is answered, whole and streamed. `native` is a model whose upstream speaks it. */
const DIALECTS = {
  messages: {
    native: 'claude',
    bodyOf: (model: string, prompt: string) => ({ model, max_tokens: 500, messages: user(prompt) }),
    whole: { type: 'message', role: 'assistant', stop_reason: 'end_turn' },
    wordsOf: ({ content }: Reply['json']) => content[0].text as string,
    delta: /"text_delta","text":"([^"]*)"/g,
    events: 'message_start content_block_start content_block_delta content_block_stop message_delta message_stop'.split(
      ' ',
    ),
    failure: { type: 'api_error' },
    failed: 'error',
  },
  responses: {
    native: 'native',
    bodyOf: (model: string, input: string) => ({ model, max_output_tokens: 500, input }),
    whole: { object: 'response', status: 'completed', error: null },
    wordsOf: ({ output }: Reply['json']) => output.at(-1).content[0].text as string,
    delta: /"response\.output_text\.delta".*?"delta":"([^"]*)"/g,
    events: (
      'created in_progress output_item.added content_part.added output_text.delta output_text.done ' +
      'content_part.done output_item.done completed'
    )
      .split(' ')
      .map((type) => `response.${type}`),
    failure: { type: 'server_error', code: 'upstream_failed' },
    failed: 'response.failed',
  },
}

// What the SDKs of the vendors read of every stream: test/upstreams/complete-streams.test.ts.
describe('a chat in the dialect of another vendor', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)

  for (const [dialect, { native, bodyOf, whole, wordsOf, delta, events, failure, failed }] of Object.entries(DIALECTS))
    for (const model of [native, 'gpt'])
      describe(`${dialect} by ${model}`, () => {
        const ask = (prompt: string, more: object = {}, headers: Record<string, string> = {}) =>
          account.post(`/v1/${dialect}`, { ...bodyOf(model, prompt), ...more }, headers)
        const typesOf = ({ text }: Reply) => [...text.matchAll(/^event: (?!ping)(.*)$/gm)].map(([, type]) => type!)
        const streamedWords = ({ text }: Reply) => [...text.matchAll(delta)].map(([, words]) => words).join('')

        it('is answered whole, with what it cost', async () => {
          const before = await account.balance()
          const { status, json, text, headers } = await ask(prompted('[answer Good morning]'))
          expect(status, text).to.equal(200)
          expect(json)
            .to.include({ ...whole, model })
            .and.not.have.property('ok')
          expect(wordsOf(json)).to.equal('Good morning')
          const { usage } = json
          expect(usage.credits).to.equal(usage.input_tokens + 3 * usage.output_tokens)
          expect([usage.balance, await account.balance()]).to.deep.equal([before - usage.credits, usage.balance])
          expect(headers.get('x-max-output-tokens')).to.equal('500')
          const id = headers.get('x-call-id')!
          if (dialect === 'messages') expect(headers.get('request-id')).to.be.a('string')
          else expect(json.id).to.equal(id.replace('call_', 'resp_'))
        })

        it('streams the same answer, its events in their order', async () => {
          const reply = await ask(prompted('[answer Good morning to you] [tokens 4]'), { stream: true })
          expect(streamedWords(reply)).to.equal('Good morning to you')
          const types = typesOf(reply)
          expect(types.filter((type, at) => type !== types[at - 1])).to.deep.equal(events)
          const numbers = [...reply.text.matchAll(/"sequence_number":(\d+)/g)].map(([, nth]) => Number(nth))
          if (dialect === 'responses') expect(numbers).to.deep.equal(types.map((_, at) => at))
          expect(reply.text.match(/"credits":[1-9]/g)).to.have.length(1)
        })

        it('says in its own form that it was refunded when its upstream fails, in mid-stream too', async () => {
          const before = await account.balance()
          const { status, json } = await ask(prompted('[status 500]'))
          expect(status).to.equal(502)
          expect(json.error).to.include(failure)
          for (const words of ['[error-after 2] [tokens 9]', '[tokens 9] [chunks 9 5] [reset-after 2]']) {
            const types = typesOf(await ask(prompted(words), { stream: true }))
            expect(types.at(-1)).to.equal(failed)
            expect(types).not.to.include(events.at(-1))
          }
          expect(await account.balance()).to.equal(before)
        })

        it('is fetched and replayed in its dialect, and may be fetched later', async () => {
          const prompt = prompted('[answer once]')
          const headers = { 'Idempotency-Key': prompted('key') }
          const first = await ask(prompt, {}, headers)
          const fetched = await account.get(`/v1/calls/${first.headers.get('x-call-id')}`)
          for (const { text } of [fetched, await ask(prompt, {}, headers)]) expect(text).to.equal(first.text)
          expect(streamedWords(await ask(prompt, { stream: true }, headers))).to.equal('once')
          const accepted = await ask(prompt, {}, { prefer: 'respond-async' })
          expect(accepted.status).to.equal(202)
          const later = await account.get(`/v1/calls/${accepted.headers.get('x-call-id')}?wait=30`)
          expect(wordsOf(later.json)).to.equal('once')
        })
      })
})
