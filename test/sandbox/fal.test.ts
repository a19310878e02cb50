import { expect } from 'chai'
import { prompted, send, useSandbox } from './support/client.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Answer, Fields, Sending } from './support/client.ts'
import { decodePng } from './support/png.ts'

const KEY = { authorization: 'Key made-up' }

describe('the sandbox as the queue of fal', () => {
  const own = useSandbox()

  function call(url: string, sending: Sending = {}): Promise<Answer> {
    return send(url, { headers: KEY, ...sending })
  }

  async function submit(words: string, model = 'fal-ai/flux', more: Fields = {}): Promise<Fields> {
    return (await call(`${own.url}/fal/${model}`, { json: { prompt: prompted(words), ...more } })).json()
  }

  function completed(ticket: Fields): Promise<Answer> {
    return until('the result', async () => {
      const answer = await call(ticket['status_url'])
      return answer.status === 200 && answer
    })
  }

  async function result(words: string, model?: string, more?: Fields): Promise<Answer> {
    const ticket = await submit(words, model, more)
    await completed(ticket)
    return call(ticket['response_url'])
  }

  it('answers with absolute addresses on its own origin, without the sub-path of the model', async () => {
    const ticket = await submit('', 'fal-ai/kling-video/v2/master/image-to-video')
    const request = `${own.url}/fal/fal-ai/kling-video/requests/${ticket['request_id']}`
    expect(ticket).to.deep.equal({
      status: 'IN_QUEUE',
      request_id: ticket['request_id'],
      response_url: request,
      status_url: `${request}/status`,
      cancel_url: `${request}/cancel`,
      queue_position: 0,
    })
  })

  it('answers 202 while it works and 200 when it is done', async () => {
    const ticket = await submit('[duration 0.2]')
    const first = await call(`${ticket['status_url']}?logs=1`)
    expect(first.status).to.equal(202)
    expect(first.json()['status']).to.match(/^IN_(QUEUE|PROGRESS)$/)
    expect(first.json()['logs']).to.be.an('array')
    const early = await call(ticket['response_url'])
    expect([early.status, early.json()['detail']]).to.deep.equal([400, 'Request is still in progress'])
    expect((await completed(ticket)).json())
      .to.include({ status: 'COMPLETED' })
      .and.have.property('metrics')
  })

  it('makes images of the requested size, at public addresses', async () => {
    const { images } = (await result('', 'fal-ai/flux', { image_size: 'landscape_4_3' })).json()
    expect(images[0]).to.include({ width: 1024, height: 768, content_type: 'image/png' })
    expect(decodePng((await send(images[0].url)).bytes)).to.include({ width: 1024, height: 768 })
    const custom = (await result('', 'fal-ai/flux', { image_size: { width: 64, height: 32 } })).json()
    expect(custom['images'][0]).to.include({ width: 64, height: 32 })
  })

  it('makes a video for a model whose name says so', async () => {
    const { video } = (await result('', 'fal-ai/kling-video/v2')).json()
    const file = await send(video.url)
    expect([video.content_type, file.headers['content-type']]).to.deep.equal(['video/mp4', 'video/mp4'])
    expect((await result('[output array]', 'fal-ai/kling-video/v2')).json()['videos']).to.have.length(1)
    expect((await result('[output object]')).json()['image'].url).to.be.a('string')
  })

  it('completes a failure with an error as its result, a list of details', async () => {
    const ticket = await submit('[fail]')
    const status = (await completed(ticket)).json()
    expect(status).to.include({ status: 'COMPLETED', error_type: 'content_policy_violation' })
    const failure = await call(ticket['response_url'])
    expect(failure.status).to.equal(422)
    expect(failure.headers['x-fal-error-type']).to.equal('content_policy_violation')
    expect(failure.json()['detail'][0]).to.deep.include({ loc: ['body', 'prompt'], type: 'content_policy_violation' })
    const missing = (await call(`${own.url}/fal/fal-ai/flux`, { json: {} })).json()
    await completed(missing)
    expect((await call(missing['response_url'])).json()['detail'][0].type).to.equal('missing')
  })

  it('cancels what runs, and says when there is nothing to cancel', async () => {
    const ticket = await submit('[stuck]')
    const cancel = async (url: string): Promise<[number, string]> => {
      const answer = await call(url, { method: 'PUT' })
      return [answer.status, answer.json()['status']]
    }
    expect(await cancel(ticket['cancel_url'])).to.deep.equal([202, 'CANCELLATION_REQUESTED'])
    expect(await cancel(ticket['cancel_url'])).to.deep.equal([400, 'ALREADY_COMPLETED'])
    expect(await cancel(`${own.url}/fal/fal-ai/flux/requests/none/cancel`)).to.deep.equal([404, 'NOT_FOUND'])
  })

  it('names the same file each time, or none when asked to', async () => {
    const ticket = await submit('')
    await completed(ticket)
    const [first, second] = [await call(ticket['response_url']), await call(ticket['response_url'])]
    expect(first.text).to.equal(second.text)
    expect((await result('[empty]')).json()).to.deep.equal({})
  })

  it('accepts only keys of its own scheme', async () => {
    const headers = { authorization: 'Bearer made-up' }
    expect((await call(`${own.url}/fal/fal-ai/flux`, { json: { prompt: 'x' }, headers })).status).to.equal(401)
    expect((await call(`${own.url}/fal/fal-ai/flux`, { json: { prompt: '[quota]' } })).status).to.equal(403)
  })
})
