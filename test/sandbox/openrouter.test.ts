import { expect } from 'chai'
import { eventsOf, prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields, Sending } from './support/client.ts'
import { decodePng } from './support/png.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('the sandbox as OpenRouter', () => {
  const own = useSandbox()

  function call(path: string, sending: Sending = {}): Promise<Answer> {
    return send(path.startsWith('http') ? path : `${own.url}/openrouter/api/v1${path}`, { headers: KEY, ...sending })
  }

  async function video(words: string): Promise<Fields> {
    const json = { model: 'acme/video', prompt: prompted(words), duration: 5, resolution: '720p' }
    const answer = await call('/videos', { json })
    expect(answer.status).to.equal(202)
    const ended = ['completed', 'failed', 'expired', 'cancelled']
    return until('the end of the video', async () => {
      const now = (await call(answer.json()['polling_url'])).json()
      return ended.includes(now['status']) && now
    })
  }

  it('chats like OpenAI and says what it cost', async () => {
    const json = { model: 'acme/chat', messages: [{ role: 'user', content: '[usage 1000 2000]' }] }
    const answer = (await call('/chat/completions', { json })).json()
    expect(answer).to.include({ provider: 'Sandbox', object: 'chat.completion' })
    expect(answer['usage'].cost).to.equal(0.006)
    const streaming = { ...json, stream: true, stream_options: { include_usage: true } }
    const events = eventsOf((await call('/chat/completions', { json: streaming })).text)
    expect(events.at(-2)!['usage'].cost).to.equal(0.006)
  })

  it('answers images as base64 with their type', async () => {
    const json = { model: 'acme/image', prompt: 'a cat', resolution: '512', n: 2 }
    const answer = (await call('/images', { json })).json()
    expect(answer['data']).to.have.length(2)
    expect(answer['data'][0].media_type).to.equal('image/png')
    expect(decodePng(Buffer.from(answer['data'][0].b64_json, 'base64')).width).to.equal(512)
    expect(answer['usage'].cost).to.be.above(0)
  })

  it('makes a video whose content needs the key', async () => {
    const done = await video('')
    expect(done).to.include({ status: 'completed' }).and.have.property('generation_id')
    const [url] = done['unsigned_urls']
    expect(url).to.match(/\/content\?index=0$/)
    expect((await call(url, { headers: {} })).status).to.equal(401)
    expect((await call(url)).headers['content-type']).to.equal('video/mp4')
    expect((await call(url.replace('index=0', 'index=1'))).status).to.equal(404)
  })

  it('ends as failed or expired, with an error', async () => {
    expect(await video('[fail]'))
      .to.include({ status: 'failed' })
      .and.have.property('error')
    expect(await video('[abort]')).to.include({ status: 'expired' })
    expect((await video('[empty]'))['unsigned_urls']).to.deep.equal([])
  })

  it('words errors with the status as their code', async () => {
    const refused = await call('/videos', { json: { model: 'acme/video', prompt: '[quota]' } })
    expect([refused.status, refused.json()['error'].code]).to.deep.equal([402, 402])
    expect((await call('/images', { json: { model: 'acme/image' } })).json()['error'].code).to.equal(400)
  })
})
