import { expect } from 'chai'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { begin } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { CHAT, chat, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { chunksOf, textOf } from './support/chunks.ts'

const WEATHER = { type: 'function', function: { name: 'weather' } }

// Its chunks, its usage and a client that disconnects, over every protocol: test/upstreams/sdk-streams.test.ts.
describe('a streamed chat', () => {
  const gateway = useGateway()
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
    ['one choice', {}, '[answer one two three]', 'stop'],
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

  it('is complete even if the upstream cuts characters, and does not send [DONE]', async () => {
    const reply = await streamed(prompted('[no-done] [cut-mid-char] [answer ok] [chunks 40 0]'))
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect(textOf(chunksOf(reply.text))).to.equal('Grüße, 你好 und 😀: ok')
  })

  for (const words of ['[error-after 3]', '[reset-after 3]', '[truncated]'])
    it(`reports ${words} of the upstream as a data line with error, is refunded, and never sent again`, async () => {
      const content = prompted(`[answer a b c d e f] ${words}`)
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

  it("that falls silent is ended at the call's deadline, and paid up to there", async () => {
    const reply = await streamed(prompted('[answer a b c d] [hang-after 2]'), { model: 'hasty-chat' })
    const chunks = chunksOf(reply.text)
    expect(textOf(chunks)).to.equal('a b')
    const { choices, usage } = chunks.at(-1)!
    expect(choices[0].finish_reason).to.equal('length')
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect(usage.credits).to.be.above(0)
    expect(await account.balance()).to.equal(10_000 - usage.credits)
  })
})
