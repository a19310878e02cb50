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
// fallback.test.ts, keys that are refused or limited: pools.test.ts. Here is what becomes of the grants.
describe('an upstream that fails', () => {
  const gateway = useGateway({}, ({ models }) => {
    const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 30 }
    models.push({ ...models.find(({ id }) => id === 'hasty-chat'), id: 'brief-chat', pricing })
  })

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
      const sent = gateway.sandbox.journal(prompt).filter(({ method }) => method === 'POST')
      expect(sent.length).to.equal(asked)
      expect(gateway.sandbox.billed(prompt).total).to.equal(billed)
      await until("the upstream's request to be ended", () => gateway.sandbox.open(prompt).open === 0)
    })
})
