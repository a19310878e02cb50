import { expect } from 'chai'
import type { TestGrant } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { remainders } from '../../shared/calls/opening.ts'
import { CHAT, IMAGES, VIDEOS, chatBody, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import type { Caller } from '../../support/caller.ts'
import { useGateway } from '../../support/gateway.ts'

/** A price that takes credits of three grants with different expiries. */
const GRANTS: TestGrant[] = [{ amount: 10, days: 1 }, { amount: 15, days: 2 }, { amount: 1000 }]
const TOTAL = 1025

/** What makes a key useless, by the upstream whose key that is, and for how many seconds. */
const APART: Record<string, [what: string, words: string, seconds: number]> = {
  refused: ['is refused', '[status 401]', 60],
  empty: ['has no credit', '[quota]', 600],
  waiting: ['is limited for longer than a call waits', '[status 429 retry-after 3]', 3],
}

const BODIES = {
  image: [IMAGES, (prompt: string) => imageBody(prompt)],
  'brief image': [IMAGES, (prompt: string) => imageBody(prompt, { model: 'hasty-image' })],
  video: [VIDEOS, (prompt: string) => ({ model: 'sandbox-video', prompt })],
  chat: [CHAT, (prompt: string) => chatBody(prompt, { model: 'dear-chat', max_tokens: 10 })],
  stream: [CHAT, (prompt: string) => chatBody(prompt, { model: 'dear-chat', max_tokens: 10, stream: true })],
  'brief stream': [CHAT, (prompt: string) => chatBody(prompt, { model: 'brief-chat', stream: true })],
} as const

/** Calls, what their upstream does, how often it is asked, and how often it bills. A chat is asked once more. */
const ROWS: [kind: keyof typeof BODIES, words: string, requests: number, billed: number][] = [
  ['image', '[status 500]', 1, 0],
  ['image', '[reset]', 1, 1],
  ['image', '[lying-type]', 1, 1],
  ['image', '[status 503]', 3, 0],
  ['brief image', '[hang]', 1, 1],
  ['chat', '[status 400]', 1, 0],
  ['chat', '[truncated]', 2, 2],
  ['chat', '[refuse]', 0, 0],
  ['stream', '[status 500]', 2, 0],
  ['stream', '[reset]', 2, 2],
  ['brief stream', '[hang] [hang-body]', 1, 1],
  ['video', '[fail]', 1, 1],
  ['video', '[broken-image]', 1, 1],
  ['video', '[status 400]', 1, 0],
]

// Every failure of every protocol: test/upstreams/protocols.test.ts and bad-answers.test.ts, the next upstream:
// fallback.test.ts. Here is what becomes of the grants and the keys.
describe('an upstream that fails', () => {
  const gateway = useGateway({}, ({ models, upstreams }) => {
    const like = (id: string, more: object) => models.push({ ...models.find((one) => one.id === id), ...more })
    const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 30 }
    like('hasty-chat', { id: 'brief-chat', pricing })
    // Each with an upstream of its own, whose only key takes no requests after that.
    for (const name of Object.keys(APART)) {
      upstreams[name] = upstreams.sandbox!
      like('dear-chat', { id: `${name}-chat`, upstreams: [{ upstream: name, model: 'gpt-sandbox' }] })
      like('sandbox-image', { id: `${name}-image`, upstreams: [{ upstream: name, model: 'image-sandbox' }] })
    }
  })

  const requests = (prompt: string): number =>
    gateway.sandbox.journal(prompt).filter(({ method }) => method === 'POST').length

  type Scene = { account: Caller; prompt: string; reply: Reply }
  const scenes = new Map<string, Promise<Scene>>()
  // All at the same time, each from its own account: many of them wait.
  before(() => {
    for (const [kind, words] of ROWS) {
      const scene = (async () => {
        const [account, prompt] = [await gateway.account(GRANTS), prompted(words)]
        const [path, bodyOf] = BODIES[kind]
        return { account, prompt, reply: await account.post(path, bodyOf(prompt)) }
      })()
      scene.catch(() => {})
      scenes.set(kind + words, scene)
    }
  })

  for (const [kind, words, asked, billed] of ROWS)
    it(`by ${words} for a ${kind} is answered 502, and refunded to the very grants`, async () => {
      const { account, prompt, reply } = await scenes.get(kind + words)!
      expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([502, 'upstream_failed'])
      expect(reply.json).to.have.all.keys('ok', 'error')
      expect(reply.headers.get('x-should-retry')).to.equal('false')
      expect(reply.text, 'its words may hold a secret').not.to.match(/sandbox|127\.0\.0\.1|sk-|html|API key/i)
      expect(await remainders(gateway.db, account.grants)).to.deep.equal(GRANTS.map((grant) => grant.amount))
      expect(await account.balance()).to.equal(TOTAL)
      const { creditsPrecharged: charged, ...record } = await gateway.record(reply)
      expect(record).to.include({
        status: 'failed',
        httpStatus: 502,
        errorType: 'upstream_failed',
        credits: 0,
        count: 1,
      })
      const moved = await gateway.movements(reply)
      expect(moved.filter((one) => one.startsWith('charge')).length).to.equal(charged > 25 ? 3 : 2)
      expect(moved.filter((one) => one.startsWith('refund')).length).to.equal(moved.length / 2)
      expect(requests(prompt)).to.equal(asked)
      expect(gateway.sandbox.billed(prompt).total).to.equal(billed)
      await until("the upstream's request to be ended", () => gateway.sandbox.open(prompt).open === 0)
    })

  for (const kind of ['chat', 'image'] as const)
    for (const [name, [what, words, seconds]] of Object.entries(APART))
      it(`whose only key ${what} is 503 with the time to try again, for a ${kind} and the next, not sent`, async () => {
        const prompt = prompted(words)
        for (const _ of [1, 2]) {
          const account = await gateway.account(GRANTS)
          const reply = await account[kind](prompt, {
            model: `${name}-${kind}`,
            ...(kind === 'chat' && { max_tokens: 10 }),
          })
          expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([503, 'upstream_unavailable'])
          expect(Number(reply.headers.get('retry-after'))).to.be.within(seconds - 2, seconds)
          expect(await account.balance()).to.equal(TOTAL)
        }
        expect(requests(prompt)).to.equal(kind === 'image' && name !== 'waiting' ? 0 : 1)
      })
})
