import { createServer } from 'node:net'
import { once } from 'node:events'
import { expect } from 'chai'
import { request } from 'undici'
import { eventsOf, failureOf, prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields } from './support/client.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('faults of the sandbox', () => {
  const own = useSandbox()

  function chat(prompt: string, more: Fields = {}, signal?: AbortSignal): Promise<Answer> {
    const json = { model: 'gpt-sandbox', messages: [{ role: 'user', content: prompt }], ...more }
    return send(`${own.url}/v1/chat/completions`, { json, headers: KEY, signal })
  }

  function billed(prompt: string): number {
    return own.sandbox.billed(prompt).total
  }

  it('refuse a mistyped steering word, so that a test cannot pass by mistake', async () => {
    const answer = await chat('[delay soon]')
    expect(answer.status).to.equal(400)
    expect(answer.json()['error'].message).to.match(/\[delay MS\]/)
  })

  it('reset the connection after billing, or before anything is recorded', async () => {
    const [lost, refused] = [prompted('[reset]'), prompted('[refuse]')]
    expect(await failureOf(chat(lost))).to.match(/ECONNRESET|UND_ERR_SOCKET/)
    expect(own.sandbox.billed(lost)).to.deep.include({ total: 1 })
    await until('the answer to be lost', () => own.sandbox.billed(lost).entries[0]!.outcome === 'lost')
    expect(await failureOf(chat(refused))).to.match(/ECONNRESET|UND_ERR_SOCKET/)
    expect(billed(refused)).to.equal(0)
    expect(own.sandbox.journal(refused)).to.deep.equal([])
    expect(own.sandbox.open(refused).refused).to.equal(1)
  })

  it('keep a task that was accepted before the reset', async () => {
    const prompt = prompted('[reset]')
    const json = { model: 'video-sandbox', prompt }
    await failureOf(send(`${own.url}/v1/videos`, { json, headers: KEY }))
    const { data } = (await send(`${own.url}/v1/videos`, { headers: KEY })).json()
    expect(data[0].prompt).to.equal(prompt)
  })

  it('hang before the headers or after them, until the client disconnects', async () => {
    for (const words of ['[hang]', '[hang-body]']) {
      const prompt = prompted(words)
      const leaving = new AbortController()
      const call = failureOf(chat(prompt, {}, leaving.signal))
      const streams = words === '[hang-body]' ? 1 : 0
      await until('the call to be open', () => {
        const now = own.sandbox.open(prompt)
        return now.open === 1 && now.streams === streams
      })
      leaving.abort()
      await call
      await until('the call to be closed', () => own.sandbox.open(prompt).open === 0)
      expect(own.sandbox.open(prompt).aborted).to.equal(1)
      expect(own.sandbox.billed(prompt).entries.map((entry) => entry.outcome)).to.deep.equal(['aborted'])
    }
  })

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

  it('cut and hang downloads halfway', async () => {
    const published = async (words: string): Promise<string> => {
      const json = { model: 'image-url', prompt: prompted(words) }
      return (await send(`${own.url}/v1/images/generations`, { json, headers: KEY })).json()['data'][0].url
    }
    expect(await failureOf(send(await published('[content-cut]')))).to.match(/ECONNRESET|UND_ERR_SOCKET/)
    const hanging = AbortSignal.timeout(200)
    expect(await failureOf(send(await published('[content-hang]'), { signal: hanging }))).not.to.equal('none')
  })
})

describe('closing a sandbox', () => {
  const own = useSandbox()

  it('drops the connections that hang, and frees the port', async () => {
    const prompt = prompted('[hang]')
    const json = { model: 'm', messages: [{ role: 'user', content: prompt }] }
    const call = failureOf(send(`${own.url}/v1/chat/completions`, { json, headers: KEY }))
    await until('the call to be open', () => own.sandbox.open(prompt).open === 1)
    await own.sandbox.close()
    expect(await call).to.match(/ECONNRESET|UND_ERR_SOCKET/)
    const successor = createServer().listen(own.sandbox.port, '127.0.0.1')
    await once(successor, 'listening')
    successor.close()
  })
})
