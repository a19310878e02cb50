import { expect } from 'chai'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, callOf, chatBody } from '../../scripts/harness/calling.ts'
import { expectBooksToBalance } from '../support/books.ts'
import type { Recorded } from './support/recorded.ts'
import { startRecorded } from './support/recorded.ts'

const FUNDS = 50_000
/** A credit a token of input, 3 a token of output. */
const PRICING = { input: 10, output: 30, perTokens: 10, minimum: 1 }
/** How long the call of a video whose file never comes may take, in seconds. */
const HASTY_SECONDS = 4

type Slow = { reply: Reply; account: TestAccount }

describe('answers that an upstream takes long over', function () {
  let gateway: Gateway
  let upstream: Recorded
  /** They take more than 15 s each, beside everything else. */
  let slow: Record<'slow-long' | 'silent' | 'img-slow', Promise<Slow>>

  before(async () => {
    upstream = await startRecorded()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      upstreams.mock = { protocol: 'openai', baseUrl: `${upstream.origin}/v1` }
      const served = (cost: object) => [{ upstream: 'mock', model: 'up', cost }]
      models.push(
        { id: 'chat', modality: 'chat', pricing: PRICING, upstreams: served({ input: 5, output: 15, perTokens: 10 }) },
        { id: 'image', modality: 'image', credits: 40, upstreams: served({ perCall: 25_000 }) },
        {
          id: 'video',
          modality: 'video',
          credits: 250,
          timeoutSeconds: HASTY_SECONDS,
          durations: { min: 1, max: 10, default: 4 },
          upstreams: served({ perSecond: 20_000 }),
        },
      )
    })
    const events = { accept: 'text/event-stream' }
    slow = {
      'slow-long': asked(CHAT, 'slow-long', { stream: true }),
      silent: asked(CHAT, 'silent', { stream: true }),
      'img-slow': asked(IMAGES, 'img-slow', {}, events),
    }
  })
  after(async () => {
    await Promise.allSettled(Object.values(slow))
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
    await upstream.close()
  })

  const MODELS: Record<string, string> = { [CHAT]: 'chat', [IMAGES]: 'image', [VIDEOS]: 'video' }

  async function asked(path: string, name: string, more: object = {}, headers = {}): Promise<Slow> {
    const account = await anAccount(gateway.db, FUNDS)
    const model = MODELS[path]
    const prompt = `Hello [case ${name}]`
    const body = path === CHAT ? chatBody(prompt, { model, max_tokens: 100, ...more }) : { model, prompt, ...more }
    return { reply: await post(`${gateway.url}${path}`, account.key, body, headers), account }
  }

  const costOf = async (reply: Reply): Promise<number | null> =>
    (
      await gateway
        .db('calls')
        .where({ id: callOf(reply) })
        .first()
    ).cost_micro_usd

  const submissionsOf = (name: string): number => upstream.seen(name).filter(({ method }) => method === 'POST').length

  const GIVEN_UP: [name: string, path: string, submissions: number][] = [
    ['524', CHAT, 2],
    ['524', IMAGES, 1],
    ['v-queued-524', VIDEOS, 1],
    ['408', CHAT, 1],
    ['408', IMAGES, 1],
  ]
  for (const [name, path, submissions] of GIVEN_UP) {
    it(`are refunded where something between gave up, and nobody knows their cost: ${name}, ${path}`, async () => {
      const before = submissionsOf(name)
      const { reply, account } = await asked(path, name)
      expect([reply.status, reply.json.error.code]).to.deep.equal([502, 'upstream_failed'])
      expect(submissionsOf(name) - before).to.equal(submissions)
      expect(await costOf(reply)).to.equal(null)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  }

  it('are refunded at the deadline where the file of a finished video never comes: v-content-404-always', async () => {
    const begunAt = performance.now()
    const { reply, account } = await asked(VIDEOS, 'v-content-404-always')
    expect(reply.status, reply.text).to.equal(502)
    expect(performance.now() - begunAt).to.be.above(HASTY_SECONDS * 1000 - 500)
    const steps = upstream.seen('v-content-404-always').map(({ step }) => step)
    expect(steps.filter((step) => step === 'submit')).to.have.length(1)
    expect(steps.filter((step) => step === 'content').length, 'asked for the file').to.be.above(1)
    expect(await costOf(reply), 'the upstream may bill it').to.equal(null)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  /** What a client gets that dispatches an event at every blank line, as openai-go before 3.43. */
  const dispatched = (text: string): string[] => text.split('\n\n').slice(0, -1)

  const hasData = (event: string): boolean => /^data: /m.test(event)

  it('get no sign of life while their chunks come, however long they take: slow-long', async () => {
    const { reply, account } = await slow['slow-long']
    expect(reply.text)
      .to.match(/data: \[DONE\]\n\n$/)
      .and.not.to.contain('still here')
    expect(dispatched(reply.text).every(hasData)).to.equal(true)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 143)
  })

  it('get one comment after 15 s of silence, which begins no event: silent', async () => {
    const { reply, account } = await slow.silent
    expect(reply.text.match(/: still here\n(?!\n)/g)).to.have.length(1)
    expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect(dispatched(reply.text).every(hasData)).to.equal(true)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 62)
  })

  it('get the same comment between the events of an image: img-slow', async () => {
    const { reply, account } = await slow['img-slow']
    expect(reply.text.match(/: still here\n(?!\n)/g)).to.have.length(1)
    expect(dispatched(reply.text).every(hasData)).to.equal(true)
    expect(reply.text).to.match(/^event: result\n/m)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 40)
  })
})
