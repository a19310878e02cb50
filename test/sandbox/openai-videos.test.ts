import { expect } from 'chai'
import OpenAI from 'openai'
import { prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields, Sending } from './support/client.ts'
import { decodePng } from './support/png.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('the sandbox as OpenAI videos', () => {
  const own = useSandbox()

  function call(path: string, sending: Sending = {}): Promise<Answer> {
    return send(`${own.url}/v1/videos${path}`, { headers: KEY, ...sending })
  }

  async function create(words = '', more: Fields = {}): Promise<Fields> {
    return (await call('', { json: { model: 'video-sandbox', prompt: prompted(words), ...more } })).json()
  }

  function ended(id: unknown): Promise<Fields> {
    return until('the end of the video', async () => {
      const video = (await call(`/${String(id)}`)).json()
      return (video['status'] === 'completed' || video['status'] === 'failed') && video
    })
  }

  it('makes a valid MP4 after the time that it takes', async () => {
    const video = await create('', { seconds: '8', size: '720x1280' })
    expect(video).to.include({ object: 'video', status: 'queued', seconds: '8', size: '720x1280', error: null })
    const done = await ended(video['id'])
    expect(done).to.include({ status: 'completed', progress: 100 })
    const content = await call(`/${video['id']}/content`)
    expect(content.headers['content-type']).to.equal('video/mp4')
    expect(content.bytes.toString('latin1', 4, 8)).to.equal('ftyp')
    expect(content.bytes.includes('avc1')).to.equal(true)
    expect(content.bytes.length).to.be.below(30 * 1024)
    expect((await call(`/${video['id']}/content`, { headers: { ...KEY, range: 'bytes=0-3' } })).status).to.equal(206)
    expect(decodePng((await call(`/${video['id']}/content?variant=thumbnail`)).bytes).width).to.be.above(0)
  })

  it('progresses with time, not with polls', async () => {
    // On a slow machine a short video can be over before it was looked at three times.
    for (let [seconds, seen] = [0.3, 0]; seen <= 2; seconds *= 2) {
      const video = await create(`[duration ${seconds}]`)
      const progress: number[] = []
      await until('the video', async () => {
        const now = (await call(`/${video['id']}`)).json()
        progress.push(now['progress'])
        return now['status'] === 'completed'
      })
      expect(progress).to.deep.equal(progress.toSorted((a, b) => a - b))
      seen = new Set(progress).size
    }
  })

  it('accepts a form with a first frame, and refuses one that is not an image', async () => {
    const form = new FormData()
    form.set('model', 'video-sandbox')
    form.set('prompt', prompted())
    form.set('seconds', '4')
    expect((await call('', { body: form })).json()['status']).to.equal('queued')
    form.set('input_reference', new Blob(['GIF89a…'], { type: 'image/gif' }), 'x.gif')
    expect((await call('', { body: form })).status).to.equal(200)
    form.set('input_reference', new Blob(['hello'], { type: 'image/png' }), 'x.png')
    expect((await call('', { body: form })).json()['error'].param).to.equal('input_reference')
  })

  it('requires the key for everything, and has no content before its end', async () => {
    const video = await create('[stuck]')
    for (const path of ['', `/${video['id']}`, `/${video['id']}/content`]) {
      expect((await call(path, { headers: {} })).status).to.equal(401)
    }
    expect((await call(`/${video['id']}/content`)).json()['error'].code).to.equal('video_not_ready')
  })

  it('keeps running under [hold] until it is released, by part of its prompt', async () => {
    const video = await create('[hold] [duration 0.001]')
    const status = async (): Promise<unknown> => (await call(`/${video['id']}`)).json()['status']
    await until('the video to run', async () => (await status()) === 'in_progress')
    expect(own.sandbox.release('another prompt')).to.equal(0)
    expect(await status()).to.equal('in_progress')
    const answer = await send(`${own.url}/sandbox/release?prompt=${video['prompt'].slice(0, 36)}`, { method: 'POST' })
    expect(answer.json()).to.deep.equal({ released: 1 })
    expect(await status()).to.equal('completed')
  })

  it('lists the newest first, in pages', async () => {
    const ids = [await create(), await create(), await create()].map((video) => video['id'])
    const page = (await call('?limit=2')).json()
    expect(page['data'].map((video: Fields) => video['id'])).to.deep.equal([ids[2], ids[1]])
    expect(page['has_more']).to.equal(true)
    const next = (await call(`?limit=1&after=${page['last_id']}`)).json()
    expect(next['data'][0].id).to.equal(ids[0])
  })

  it('forgets a video that is deleted, and marks it cancelled in the ledger', async () => {
    const video = await create('[stuck]')
    expect((await call(`/${video['id']}`, { method: 'DELETE' })).json()).to.include({ deleted: true })
    expect((await call(`/${video['id']}`)).status).to.equal(404)
    expect(own.sandbox.billed(video['prompt']).entries.map((entry) => entry.outcome)).to.deep.equal(['cancelled'])
  })

  it('fails, and aborts, as failed with an error', async () => {
    for (const words of ['[fail]', '[abort]']) {
      const done = await ended((await create(words))['id'])
      expect(done['status']).to.equal('failed')
      expect(done['error']).to.have.keys('code', 'message')
    }
  })

  it('shows an unknown status for a while, then success', async () => {
    const video = await create('[weird-status] [hold] [duration 0.001]')
    const status = async (): Promise<unknown> => (await call(`/${video['id']}`)).json()['status']
    await until('the unknown status', async () => (await status()) === 'marinating')
    own.sandbox.release(video['prompt'])
    expect(await status()).to.equal('completed')
  })

  it('fails the first polls when asked to, and only those', async () => {
    const statuses = async (words: string): Promise<number[]> => {
      const { id } = await create(words)
      return [await call(`/${id}`), await call(`/${id}`), await call(`/${id}`)].map((answer) => answer.status)
    }
    expect(await statuses('[poll-errors 2 500]')).to.deep.equal([500, 500, 200])
    expect(await statuses('[not-found-first]')).to.deep.equal([404, 200, 200])
  })

  it('serves HTML in place of the video when asked to', async () => {
    const video = await create('[wrong-type]')
    await ended(video['id'])
    expect((await call(`/${video['id']}/content`)).headers['content-type']).to.equal('text/html')
  })

  it('is read by an OpenAI SDK', async () => {
    const sdk = new OpenAI({ apiKey: 'made-up', baseURL: `${own.url}/v1`, maxRetries: 0 })
    const video = await sdk.videos.create({ model: 'sora-2', prompt: prompted(), seconds: '4' })
    await ended(video.id)
    const content = await sdk.videos.downloadContent(video.id)
    expect((await content.arrayBuffer()).byteLength).to.be.above(1000)
  })
})
