import { expect } from 'chai'
import { request } from 'undici'
import { prompted } from '../../scripts/harness/calling.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { chatAt, eventsOf, useSandbox } from './support/client.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('faults of the sandbox', () => {
  const own = useSandbox()

  /** The pieces in which an answer comes. */
  async function piecesOf(prompt: string): Promise<Buffer[]> {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: prompt }] })
    const answer = await request(`${own.url}/v1/chat/completions`, { method: 'POST', headers: KEY, body })
    const pieces: Buffer[] = []
    for await (const piece of answer.body) pieces.push(piece as Buffer)
    return pieces
  }

  // On a busy machine pieces can arrive together, but not each time.
  it('drip one byte at a time', async () => {
    await until('single bytes', async () => {
      const pieces = await piecesOf(prompted('[answer x] [drip 1]'))
      expect(JSON.parse(Buffer.concat(pieces).toString())['choices'][0].message.content).to.equal('x')
      return pieces.length > 100
    })
  })

  it('send the two halves of a character apart', async () => {
    await until('two halves', async () => {
      const pieces = await piecesOf('[answer ü] [cut-mid-char]')
      return pieces.some((piece) => piece.toString('utf8').includes('\uFFFD'))
    })
  })

  it('slow a stream down, and cut it in every way', async () => {
    const contents = (answer: Reply): number => {
      return eventsOf(answer.text).filter((event) => event['choices']?.[0]?.delta.content).length
    }
    const started = Date.now()
    expect(contents(await chatAt(own, '[chunks 10 20]', { stream: true }))).to.equal(10)
    expect(Date.now() - started).to.be.at.least(175)
    const thinking = Date.now()
    const thought = eventsOf((await chatAt(own, '[tokens 3] [think 200]', { stream: true })).text)
    expect([thought.at(-1), Date.now() - thinking >= 195]).to.deep.equal(['[DONE]', true])
  })
})
