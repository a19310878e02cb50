import { expect } from 'chai'
import { prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields, Sending } from './support/client.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('the sandbox as Replicate', () => {
  const own = useSandbox()

  function call(url: string, sending: Sending = {}): Promise<Answer> {
    return send(url, { headers: KEY, ...sending })
  }

  function create(words: string, model = 'acme/picture', more: Fields = {}, headers = {}): Promise<Answer> {
    const json = { input: { prompt: prompted(words) }, ...more }
    return call(`${own.url}/replicate/v1/models/${model}/predictions`, { json, headers: { ...KEY, ...headers } })
  }

  function ended(prediction: Fields): Promise<Fields> {
    return until('the end of the prediction', async () => {
      const now = (await call(prediction['urls'].get)).json()
      return now['completed_at'] !== null && now
    })
  }

  async function outputOf(words: string, model?: string): Promise<unknown> {
    return (await ended((await create(words, model)).json()))['output']
  }

  it('creates a prediction by model and by version, and echoes its input and webhook', async () => {
    const answer = await create('', 'acme/picture', { webhook: 'https://example.com/hook' })
    expect(answer.status).to.equal(201)
    const prediction = answer.json()
    expect(prediction).to.include({ status: 'starting', model: 'acme/picture', output: null })
    expect(prediction['webhook']).to.equal('https://example.com/hook')
    expect(prediction['input'].prompt).to.be.a('string')
    expect(prediction['urls'].get).to.equal(`${own.url}/replicate/v1/predictions/${prediction['id']}`)
    const byVersion = { version: 'acme/picture:123', input: { prompt: prompted() } }
    expect((await call(`${own.url}/replicate/v1/predictions`, { json: byVersion })).status).to.equal(201)
  })

  it('answers with a list for images, an address for videos, or another form on request', async () => {
    expect(await outputOf(''))
      .to.be.an('array')
      .with.length(1)
    const video = await outputOf('', 'acme/video-maker')
    expect(video).to.match(/\.mp4$/)
    expect((await send(String(video))).headers['content-type']).to.equal('video/mp4')
    expect(await outputOf('[output object]')).to.have.keys('image', 'seed')
    expect(await outputOf('[output string]')).to.be.a('string')
  })

  it('ends as failed or as aborted, which never began', async () => {
    const failed = await ended((await create('[fail]')).json())
    expect([failed['status'], typeof failed['error']]).to.deep.equal(['failed', 'string'])
    const aborted = await ended((await create('[abort]')).json())
    expect([aborted['status'], aborted['started_at']]).to.deep.equal(['aborted', null])
  })

  it('holds the answer for Prefer: wait, until the end or for the given time', async () => {
    const waited = (await create('', 'acme/picture', {}, { prefer: 'wait' })).json()
    expect(waited['status']).to.equal('succeeded')
    const started = Date.now()
    const impatient = (await create('[stuck]', 'acme/picture', {}, { prefer: 'wait=1' })).json()
    expect(Date.now() - started).to.be.at.least(900)
    expect(impatient['status']).to.match(/starting|processing/)
  })

  it('cancels what runs, and leaves alone what has ended', async () => {
    const running = (await create('[stuck]')).json()
    expect((await call(running['urls'].cancel, { method: 'POST' })).json()['status']).to.equal('canceled')
    const done = await ended((await create('')).json())
    expect((await call(done['urls'].cancel, { method: 'POST' })).json()['status']).to.equal('succeeded')
  })

  it('lists the newest first', async () => {
    const { id } = (await create('')).json()
    const { results } = (await call(`${own.url}/replicate/v1/predictions`)).json()
    expect(results[0].id).to.equal(id)
  })

  it('refuses an input without a prompt with 422 and the field', async () => {
    const answer = await create('', 'acme/picture', { input: {} })
    expect(answer.status).to.equal(422)
    expect(answer.json()).to.include({ title: 'Input validation failed', status: 422 })
    expect(answer.json()['invalid_fields'][0].field).to.equal('input.prompt')
    expect((await create('[quota]')).status).to.equal(402)
    expect((await create('', 'acme/picture', {}, { authorization: '' })).status).to.equal(401)
  })
})
