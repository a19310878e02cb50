import { expect } from 'chai'
import { request } from 'undici'
import { eventsOf, prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields } from './support/client.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('faults of the sandbox', () => {
  const own = useSandbox()

  function chat(prompt: string, more: Fields = {}, signal?: AbortSignal): Promise<Answer> {
    const json = { model: 'gpt-sandbox', messages: [{ role: 'user', content: prompt }], ...more }
    return send(`${own.url}/v1/chat/completions`, { json, headers: KEY, signal })
  }

  it('drip one byte at a time', async () => {
    const json = { model: 'm', messages: [{ role: 'user', content: prompted('[answer x] [drip 1]') }] }
    // On a busy machine several can arrive together, but not each time.
    await until('single bytes', async () => {
      const body = JSON.stringify(json)
      const answer = await request(`${own.url}/v1/chat/completions`, { method: 'POST', headers: KEY, body })
      const chunks: Buffer[] = []
      for await (const chunk of answer.body) chunks.push(chunk as Buffer)
      expect(JSON.parse(Buffer.concat(chunks).toString())['choices'][0].message.content).to.equal('x')
      return chunks.length > 100
    })
  })

  it('send the two halves of a character apart', async () => {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '[answer ü] [cut-mid-char]' }] })
    // On a busy machine they can arrive together, but not each time.
    await until('two halves', async () => {
      const answer = await request(`${own.url}/v1/chat/completions`, { method: 'POST', headers: KEY, body })
      const chunks: Buffer[] = []
      for await (const chunk of answer.body) chunks.push(chunk as Buffer)
      return chunks.some((chunk) => chunk.toString('utf8').includes('\uFFFD'))
    })
  })

  it('slow a stream down, and cut it in every way', async () => {
    const contents = (answer: Answer): number => {
      return eventsOf(answer.text).filter((event) => event['choices']?.[0]?.delta.content).length
    }
    const started = Date.now()
    expect(contents(await chat('[chunks 10 20]', { stream: true }))).to.equal(10)
    expect(Date.now() - started).to.be.at.least(175)
    const thinking = Date.now()
    const thought = eventsOf((await chat('[tokens 3] [think 200]', { stream: true })).text)
    expect([thought.at(-1), Date.now() - thinking >= 195]).to.deep.equal(['[DONE]', true])
  })
})
