import { expect } from 'chai'
import { useGateway, useScripted } from '../support/gateway.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { post } from '../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, callOf, chatBody, prompted } from '../../scripts/harness/calling.ts'
import { saying } from './support/scripted.ts'
import type { Script } from './support/scripted.ts'

/** Micro-dollars for a thousand tokens. */
const COST = { input: 250, cachedInput: 25, cacheWrite: 300, output: 2000, perCall: 7, perTokens: 1000 }

/** Bytes that make thousands of tokens possible. */
const LONG = ' and'.repeat(3000)

const dearly = (usage: object, choices: object[]): string =>
  JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
const OK = [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }]
const resetting: Script = (request) => void request.socket.destroy()
const failing =
  (status: number): Script =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')

describe('what a call costs its operator', function () {
  const first = useScripted()
  const second = useScripted()
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const openrouter = (upstreams.sandbox as { baseUrl: string }).baseUrl.replace(/v1$/, 'openrouter/api/v1')
    upstreams.first = { protocol: 'openai', baseUrl: first.origin }
    upstreams.second = { protocol: 'anthropic', baseUrl: second.origin }
    upstreams.third = { protocol: 'openai', baseUrl: second.origin }
    upstreams.openrouter = { protocol: 'openrouter', baseUrl: openrouter, apiKeyEnv: 'SANDBOX_API_KEY' }
    const pricing = { input: 10, output: 50, perTokens: 1000, minimum: 1 }
    const chat = (id: string, ...entries: object[]) => ({ id, modality: 'chat', pricing, upstreams: entries })
    const at = (upstream: string, cost?: object) => ({ upstream, model: 'some/model', ...(cost && { cost }) })
    const media = (id: string, modality: string, upstream: string, cost?: object) => ({
      id,
      modality,
      credits: 40,
      ...(modality === 'video' && { durations: [4, 8] }),
      upstreams: [at(upstream, cost)],
    })
    models.push(
      chat('costed', at('sandbox', COST)),
      chat('uncosted', at('sandbox')),
      chat('reported', at('openrouter', COST)),
      chat('cached', at('second', COST)),
      chat('twice', at('first', COST), at('third', { ...COST, perCall: 0 })),
      media('image-costed', 'image', 'sandbox', { perCall: 39_000 }),
      media('video-costed', 'video', 'sandbox', { perSecond: 150_000 }),
      media('video-uncosted', 'video', 'sandbox'),
      media('video-reported', 'video', 'openrouter', { perSecond: 1 }),
      media('image-reported', 'image', 'openrouter', { perCall: 1 }),
    )
  })
  let account: TestAccount

  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  const chat = (model: string, prompt: string, more: object = {}): Promise<Reply> =>
    post(`${gateway.url}${CHAT}`, account.key, chatBody(`${prompt}${LONG}`, { model, ...more }))
  const media = (path: string, model: string, words = '', more: object = {}): Promise<Reply> =>
    post(`${gateway.url}${path}`, account.key, { model, prompt: prompted(words), ...more })

  /** In micro-dollars; null where it is unknown. */
  const costOf = async (reply: Reply): Promise<number | null> =>
    (
      await gateway
        .db('calls')
        .where({ id: callOf(reply) })
        .first<{ cost_micro_usd: number | null }>('cost_micro_usd')
    ).cost_micro_usd

  for (const stream of [false, true]) {
    it(`is its tokens at the upstream's cost, ${stream ? 'streamed' : 'whole'}`, async () => {
      const reply = await chat('costed', prompted('[usage 1500 501]'), { stream })
      expect(await costOf(reply)).to.equal(375 + 1002 + 7)
      const uncosted = await chat('uncosted', prompted('[usage 1500 501]'), { stream })
      expect(await costOf(uncosted), 'unknown, not nothing').to.equal(null)
      const reported = await chat('reported', prompted('[usage 1500 501]'), { stream })
      expect(await costOf(reported), 'what the upstream reports wins').to.equal(2001 * 2)
    })
  }

  it('has a cost of its own for what a cache had a part in', async () => {
    const usage = {
      input_tokens: 100,
      cache_read_input_tokens: 8000,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    }
    const answer = { type: 'message', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage }
    const reply = await chat('cached', second.prompt(saying(JSON.stringify(answer))))
    expect(reply.json.usage).to.deep.include({
      input_tokens: 8120,
      prompt_tokens_details: { cached_tokens: 8000, cache_write_tokens: 20 },
    })
    expect(await costOf(reply)).to.equal(25 + 200 + 6 + 10 + 7)
  })

  it('counts a try that failed and was billed, and none that was refused', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 }
    const alone = 250 + 20
    const both = async (script: Script): Promise<number | null> => {
      const prompt = first.prompt(script)
      const id = second.prompt(saying(dearly(usage, OK)))
      const reply = await chat('twice', `${prompt} ${id}`)
      expect(reply.status, reply.text).to.equal(200)
      // So that no circuit opens.
      expect(await costOf(await chat('twice', first.prompt(saying(dearly(usage, OK)))))).to.equal(alone + 7)
      return await costOf(reply)
    }
    expect(await both(saying(dearly(usage, []))), 'an answer without choices, with a usage').to.equal(2 * alone + 7)
    expect(await both(saying(dearly({}, []))), 'an answer without either').to.equal(null)
    expect(await both(failing(500)), "an error of the upstream's own").to.equal(alone)
    expect(await both(failing(503)), 'not accepted').to.equal(alone)
    for (const status of [502, 504, 520, 524, 529, 530])
      expect(await both(failing(status)), `${status}: perhaps of something between`).to.equal(null)
    const own = '{"error":{"type":"overloaded_error","message":"no"}}'
    const overloaded: Script = (_request, response) => void response.writeHead(529).end(own)
    expect(await both(overloaded), "529 in the upstream's own words").to.equal(alone)
    for (const status of [408, 499])
      expect(await costOf(await chat('twice', first.prompt(failing(status)))), `${status}: the same`).to.equal(null)
    expect(await both(resetting), 'lost on the way').to.equal(null)
  })

  it('of a call that failed is what its tries have cost, which need not be nothing', async () => {
    const refused = await chat('costed', prompted('[status 400]'))
    expect([refused.status, await costOf(refused)]).to.deep.equal([502, 0])
    const lost = await chat('costed', prompted('[reset]'))
    expect([lost.status, await costOf(lost)]).to.deep.equal([502, null])
    const failed = await media(VIDEOS, 'video-costed', '[fail]')
    expect([failed.status, await costOf(failed)]).to.deep.equal([502, null])
    const rejected = await media(IMAGES, 'image-costed', '[status 400]')
    expect([rejected.status, await costOf(rejected)]).to.deep.equal([502, 0])
    const broken = await media(IMAGES, 'image-costed', '[broken-image]')
    expect([broken.status, await costOf(broken)], 'made, and thrown away').to.deep.equal([502, 39_000])
  })

  it('of an image or a video is by the call or the second, or what its upstream reports', async () => {
    expect(await costOf(await media(IMAGES, 'image-costed'))).to.equal(39_000)
    expect(await costOf(await media(VIDEOS, 'video-costed'))).to.equal(600_000)
    expect(await costOf(await media(VIDEOS, 'video-costed', '', { duration: 8 }))).to.equal(1_200_000)
    expect(await costOf(await media(VIDEOS, 'video-uncosted'))).to.equal(null)
    expect(await costOf(await media(VIDEOS, 'video-reported'))).to.equal(200_000)
    expect(await costOf(await media(IMAGES, 'image-reported'))).to.be.above(1)
  })

  it('is shown to nobody but operators', async () => {
    const reply = await chat('reported', prompted())
    expect(reply.text).not.to.match(/cost/i)
  })
})
