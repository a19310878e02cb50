import { expect } from 'chai'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestGrant, TestAccount } from '../../../scripts/harness/factories.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { remainders } from '../../shared/calls/opening.ts'
import { VIDEOS, chat, image, movementsOf, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { useGateway } from '../../support/gateway.ts'

/** A price that takes credits of three grants with different expiries. */
const GRANTS: TestGrant[] = [{ amount: 10, days: 1 }, { amount: 15, days: 2 }, { amount: 1000 }]
const TOTAL = 1025

/** What makes a key useless, by the upstream whose key that is. */
const APART = {
  refused: '[status 401]',
  empty: '[quota]',
  limited: '[fail-times 1 429]',
  waiting: '[status 429 retry-after 3]',
} as const

/** The model at an upstream of its own, if the words make a key useless. */
const modelFor = (words: string, kind: 'chat' | 'image') =>
  Object.values(APART).some((one) => words.includes(one)) && { model: `${words.slice(words.indexOf('['))}-${kind}` }

type Scene = { account: TestAccount; prompt: string; reply: Reply }
type Calling = (account: TestAccount, prompt: string) => Promise<Reply>

// Every failure is told apart in test/workers/upstreams; here is what becomes of a call.
describe('an upstream that fails', () => {
  const gateway = useGateway({}, ({ models, upstreams }) => {
    models.push({
      id: 'brief-image',
      modality: 'image',
      timeoutSeconds: 3,
      credits: 40,
      upstreams: [{ upstream: 'sandbox', model: 'image-sandbox' }],
    })
    models.push({
      id: 'brief-chat',
      modality: 'chat',
      timeoutSeconds: 3,
      pricing: { input: 1, output: 3, perTokens: 1000, minimum: 30 },
      upstreams: [{ upstream: 'sandbox', model: 'gpt-sandbox' }],
    })
    // Each with an upstream of its own, whose only key takes no requests after that.
    for (const [name, words] of Object.entries(APART)) {
      upstreams[name] = upstreams.sandbox!
      const entries = (model: string) => ({ upstreams: [{ upstream: name, model }] })
      models.push({ ...models.find(({ id }) => id === 'dear-chat'), id: `${words}-chat`, ...entries('gpt-sandbox') })
      models.push({
        ...models.find(({ id }) => id === 'sandbox-image'),
        id: `${words}-image`,
        ...entries('image-sandbox'),
      })
    }
  })
  // Before the preparation of the groups, which calls it.

  /** Makes the call of each row at the same time, each from its own account: many of them wait. */
  function inParallel(
    rows: readonly (readonly [what: string, words: string, ...rest: unknown[]])[],
    call: Calling,
  ): (what: string) => Promise<Scene> {
    const scenes = new Map<string, Promise<Scene>>()
    before(() => {
      for (const [what, words] of rows) {
        const scene = (async () => {
          const [account, prompt] = [await anAccount(gateway.db, GRANTS), prompted(words)]
          return { account, prompt, reply: await call(account, prompt) }
        })()
        scene.catch(() => {})
        scenes.set(what, scene)
      }
    })
    return (what) => scenes.get(what)!
  }

  /** Expects 502, a refund to the grants that paid, and one record. */
  async function expectRefunded({ account, reply }: Scene): Promise<void> {
    expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([502, 'upstream_failed'])
    expect(reply.json).to.have.all.keys('ok', 'error')
    expect(reply.headers.get('x-should-retry')).to.equal('false')
    expect(reply.text, 'its words may hold a secret').not.to.match(/sandbox|127\.0\.0\.1|sk-|html|API key/i)
    expect(await remainders(gateway.db, account.grants)).to.deep.equal(GRANTS.map((grant) => grant.amount))
    expect(await balanceOf(gateway.db, account.id)).to.equal(TOTAL)
    const record = await recordOf(gateway.db, reply)
    expect(record).to.include({ status: 'failed', httpStatus: 502, errorType: 'upstream_failed', credits: 0, count: 1 })
    const moved = await movementsOf(gateway.db, reply)
    expect(moved.filter((one) => one.startsWith('charge')).length).to.equal(record.creditsPrecharged > 25 ? 3 : 2)
    expect(moved.filter((one) => one.startsWith('refund')).length).to.equal(moved.length / 2)
  }

  const billed = (prompt: string): number => gateway.sandbox.billed(prompt).total
  const requests = (prompt: string): number => gateway.sandbox.journal(prompt).length

  describe('at an image', () => {
    const ROWS = [
      ['500', '[status 500]', 0],
      ['400', '[status 400]', 0],
      ['a redirect to somewhere else', '[redirect http://127.0.0.1:9/]', 0],
      ['an HTML page', '[garbage]', 1],
      ['a reset after taking the work', '[reset]', 1],
      ['an SVG', '[wrong-type]', 1],
      ['an SVG that says it is a PNG', '[lying-type]', 1],
      ['a picture that does not decode', '[broken-image]', 1],
    ] as const
    const scene = inParallel(ROWS, (account, prompt) => image(gateway, account, prompt))
    for (const [what, , bill] of ROWS) {
      it(`with ${what} is answered 502, refunded to the very grants, and never sent again`, async () => {
        const { prompt } = await scene(what)
        await expectRefunded(await scene(what))
        expect(requests(prompt)).to.equal(1)
        expect(billed(prompt)).to.equal(bill)
      })
    }

    const SILENT = [
      ['silence', '[hang]'],
      ['one byte after the other', '[drip 5000]'],
    ] as const
    const silent = inParallel(SILENT, (account, prompt) => image(gateway, account, prompt, { model: 'brief-image' }))
    for (const [what] of SILENT) {
      it(`by ${what} is ended at the call's deadline`, async () => {
        const { prompt, reply } = await silent(what)
        await expectRefunded(await silent(what))
        expect((await recordOf(gateway.db, reply)).latencyMs).to.be.within(900, 50_000)
        expect(requests(prompt)).to.equal(1)
        await until("the upstream's request to be ended", () => gateway.sandbox.open(prompt).open === 0)
      })
    }

    const PASSING = [
      ['429', '[fail-times 1 429]'],
      ['503', '[fail-times 2 503]'],
    ] as const
    const passing = inParallel(PASSING, (account, prompt) =>
      image(gateway, account, prompt, { ...modelFor(prompt, 'image') }),
    )
    for (const [what] of PASSING) {
      it(`with a ${what} that passes is asked again, and billed once`, async () => {
        const { prompt, reply } = await passing(what)
        expect(reply.status, reply.text).to.equal(200)
        expect(billed(prompt)).to.equal(1)
      })
    }

    it('by refusing connections is followed by the next upstream of the model, billed once', async () => {
      const [account, prompt] = [await anAccount(gateway.db, GRANTS), prompted()]
      const reply = await image(gateway, account, prompt, { model: 'fallback-image' })
      expect(reply.status, reply.text).to.equal(200)
      expect(await recordOf(gateway.db, reply)).to.include({ upstream: 'sandbox', credits: 40 })
      expect(billed(prompt)).to.equal(1)
    })

    it('with a lasting 503 is given up after a few attempts, and refunded', async () => {
      const [account, prompt] = [await anAccount(gateway.db, GRANTS), prompted('[status 503]')]
      await expectRefunded({ account, prompt, reply: await image(gateway, account, prompt) })
      expect(requests(prompt)).to.be.within(2, 5)
    })
  })

  describe('at a chat', () => {
    // What may have been billed is asked once more, but not what was refused.
    const ROWS = [
      ['400', '[status 400]', 1],
      ['500', '[status 500]', 2],
      ['an HTML page', '[garbage]', 2],
      ['JSON that is cut', '[truncated]', 2],
      ['no choices', '[empty]', 2],
      ['a reset', '[reset]', 2],
      ['a reset before it took the work', '[refuse]', 0],
    ] as const
    const dear = { model: 'dear-chat', max_tokens: 10 }
    const whole = inParallel(ROWS, (account, prompt) => chat(gateway, account, prompt, dear))
    const streamed = inParallel(ROWS, (account, prompt) => chat(gateway, account, prompt, { ...dear, stream: true }))
    for (const [what, words, asked] of ROWS) {
      it(`with ${what} is answered 502 and refunded to the very grants`, async () => {
        await expectRefunded(await whole(what))
        expect(requests((await whole(what)).prompt)).to.equal(asked)
      })

      it(`with ${what} fails a stream, with a status if it has not begun`, async () => {
        const { account, reply } = await streamed(what)
        if (words !== '[truncated]') return expectRefunded(await streamed(what))
        // After the first chunk there cannot be another status.
        expect(reply.text).to.match(/data: \{"ok":false,"error":\{"type":"upstream_failed"[^\n]*\n\n$/)
        expect(await balanceOf(gateway.db, account.id)).to.equal(TOTAL)
      })
    }

    const PASSING = [
      ['500', '[fail-times 1 500]'],
      ['429', '[fail-times 1 429]'],
    ] as const
    const passing = inParallel(PASSING, (account, prompt) =>
      chat(gateway, account, prompt, { ...modelFor(prompt, 'chat'), max_tokens: 10 }),
    )
    for (const [what] of PASSING) {
      it(`with a ${what} that passes is asked once more, and answers`, async () => {
        const { prompt, reply } = await passing(what)
        expect(reply.status, reply.text).to.equal(200)
        expect([requests(prompt), billed(prompt)]).to.deep.equal([2, 1])
      })
    }

    it('by refusing is followed by the next upstream of the model, billed once', async () => {
      const [account, prompt] = [await anAccount(gateway.db, GRANTS), prompted()]
      const reply = await chat(gateway, account, prompt, { model: 'fallback-chat' })
      expect(reply.status, reply.text).to.equal(200)
      expect(billed(prompt)).to.equal(1)
      expect(gateway.sandbox.journal(prompt).map((line) => [line.model, line.status])).to.deep.equal([
        ['refusing-gpt', 503],
        ['gpt-sandbox', 200],
      ])
    })

    const SILENT = [
      ['whole', '[hang]'],
      ['streamed', '[hang] [hang-body]'],
    ] as const
    const silent = inParallel(SILENT, (account, prompt) =>
      chat(gateway, account, prompt, { model: 'brief-chat', stream: prompt.includes('[hang-body]') }),
    )
    for (const [what] of SILENT) {
      it(`by silence is ended at the call's deadline, ${what}`, async () => {
        await expectRefunded(await silent(what))
        await until(
          "the upstream's request to be ended",
          async () => gateway.sandbox.open((await silent(what)).prompt).open === 0,
        )
      })
    }
  })

  describe('whose only key', () => {
    const ROWS: [what: string, words: keyof typeof APART, seconds: number][] = [
      ['is refused', 'refused', 60],
      ['has no credit', 'empty', 600],
      ['is limited for longer than a call waits', 'waiting', 3],
    ]
    for (const kind of ['chat', 'image'] as const)
      for (const [what, name, seconds] of ROWS)
        it(`${what} is 503 with the time to try again, for a ${kind} and for the next, which is not sent`, async () => {
          const prompt = prompted(APART[name])
          const model = { model: `${APART[name]}-${kind}`, max_tokens: kind === 'chat' ? 10 : undefined }
          for (const _ of [1, 2]) {
            const account = await anAccount(gateway.db, GRANTS)
            const reply = await (kind === 'chat' ? chat : image)(gateway, account, prompt, model)
            expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([503, 'upstream_unavailable'])
            expect(Number(reply.headers.get('retry-after'))).to.be.within(seconds - 2, seconds)
            expect(await balanceOf(gateway.db, account.id)).to.equal(TOTAL)
          }
          expect(requests(prompt)).to.equal(kind === 'image' && name !== 'waiting' ? 0 : 1)
        })
  })

  describe('at a video', () => {
    const video: Calling = (account, prompt) =>
      post(`${gateway.url}${VIDEOS}`, account.key, { model: 'sandbox-video', prompt })
    const ROWS = [
      ['a task that fails', '[fail]'],
      ['a task that it aborts', '[abort]'],
      ['a refusal', '[status 400]'],
      ['an HTML page for a video', '[wrong-type]'],
      ['a video that does not play', '[broken-image]'],
      ['a submission whose answer is lost', '[reset]'],
    ] as const
    const scene = inParallel(ROWS, video)
    for (const [what, words] of ROWS) {
      it(`with ${what} is answered 502, refunded to the very grants, and never sent again`, async () => {
        const { prompt } = await scene(what)
        await expectRefunded(await scene(what))
        expect(billed(prompt)).to.equal(words === '[status 400]' ? 0 : 1)
      })
    }

    const PASSING = [
      ['polls', '[poll-errors 1 503] [duration 0.2]'],
      ['words for its status', '[weird-status] [duration 0.2]'],
    ] as const
    const passing = inParallel(PASSING, video)
    for (const [what] of PASSING) {
      it(`only in its ${what} is asked again until it answers`, async () => {
        const { prompt, reply } = await passing(what)
        expect(reply.status, reply.text).to.equal(200)
        expect(billed(prompt)).to.equal(1)
      })
    }
  })
})
