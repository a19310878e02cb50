import { expect } from 'chai'
import { Redis } from 'ioredis'
import { prefersAsync } from '../../../src/api/v1/calls/answer-call.ts'
import { eventChannel } from '../../../src/shared/replies/channels.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import {
  CHAT,
  IMAGES,
  callOf,
  changeCall,
  chatBody,
  image,
  imageBody,
  prompted,
} from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway, useSecondWeb } from '../../support/gateway.ts'

const ASYNC = { prefer: 'respond-async' }

const keyed = (key: string): Record<string, string> => ({ 'idempotency-key': key })
const isReplay = (reply: Reply): boolean => reply.headers.get('idempotent-replayed') === 'true'

// For that of a call whose client has disconnected: numbered-retries.test.ts.
describe('coming back for an answer', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1000)

  const fetchCall = (id: string, query = ''): Promise<Reply> => account.get(`/v1/calls/${id}${query}`)
  const running = (prompt: string): Promise<unknown> =>
    until('the upstream to have it', () => gateway.sandbox.open(prompt).open + gateway.sandbox.open(prompt).streams > 0)

  /** Expects 202 with the address of the later answer. */
  function expectAccepted(reply: Reply, preference: string | null): string {
    expect(reply.status, reply.text).to.equal(202)
    expect(reply.json).to.have.all.keys('ok', 'id', 'status')
    expect(reply.json.ok).to.equal(true)
    expect(reply.json.status).to.be.oneOf(['queued', 'running'])
    expect(reply.headers.get('location')).to.equal(`/v1/calls/${reply.json.id}`)
    expect(reply.headers.get('x-call-id')).to.equal(reply.json.id)
    expect(reply.headers.get('preference-applied')).to.equal(preference)
    return reply.json.id as string
  }
  const accepted = async (prompt: string, prefer = 'respond-async', applied: string = prefer): Promise<string> =>
    expectAccepted(await account.image(prompt, {}, { prefer }), applied)

  /** Lets the upstream answer a call that it holds, and expects the answer. */
  async function expectAnswer(prompt: string, id: string): Promise<Reply> {
    await running(prompt)
    gateway.sandbox.release(prompt)
    const reply = await fetchCall(id, '?wait=60')
    expect(reply.status, reply.text).to.equal(200)
    return reply
  }

  it('Prefer: respond-async is answered at once, with the address of the later answer', async () => {
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    const meanwhile = await fetchCall(id)
    expect(meanwhile.status).to.equal(202)
    expect(meanwhile.json).to.include({ ok: true, id })
    expect((await expectAnswer(prompt, id)).json.usage).to.include({ credits: 40, balance: 960 })
  })

  it('Prefer: respond-async makes no stream of a chat, since nobody would read it', async () => {
    const content = prompted('[hold] [answer hi]')
    const id = expectAccepted(await account.chat(content, { stream: true }, ASYNC), 'respond-async')
    await running(content)
    expect(gateway.sandbox.open(content).streams).to.equal(0)
    const reply = await expectAnswer(content, id)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion' })
    expect(reply.json.choices[0].message.content).to.equal('hi')
  })

  it('Prefer: respond-async goes before Accept: text/event-stream', async () => {
    const headers = { ...ASYNC, accept: 'text/event-stream' }
    const id = expectAccepted(await account.image(prompted(), {}, headers), 'respond-async')
    expect((await fetchCall(id, '?wait=60')).status).to.equal(200)
  })

  it('Prefer: wait=N is answered with the result, or after N seconds with its address', async () => {
    expect((await account.image(prompted(), {}, { prefer: 'wait=60, respond-async' })).status).to.equal(200)
    const prompt = prompted('[hold]')
    const started = performance.now()
    const id = await accepted(prompt, 'respond-async, wait=1', 'wait=1')
    expect(performance.now() - started).to.be.at.least(950)
    await expectAnswer(prompt, id)
  })

  it('a preference is found among others, and unknown ones are ignored', async () => {
    const slow = prompted('[hold]')
    await expectAnswer(slow, await accepted(slow, 'handling=lenient, Respond-Async', 'respond-async'))
    await accepted(prompted(), 'respond-async; since=today', 'respond-async')
    await accepted(prompted(), 'wait=0 ; since="today"', 'wait=0')
    const others =
      'handling=strict|wait|wait=|wait=-1|wait=x|respond-asynchronously||,,;=|handling=strict; respond-async'
    for (const prefer of others.split('|'))
      expect(prefersAsync({ req: { headers: { prefer } } } as never), prefer).to.equal(false)
    expect((await account.image(prompted(), {}, { prefer: 'wait=x, handling=strict' })).status).to.equal(200)
  })

  it('a call is shown as queued or running', async () => {
    await gateway.stopWorker()
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    expect((await fetchCall(id)).json.status).to.equal('queued')
    await gateway.startWorker()
    await running(prompt)
    expect((await fetchCall(id)).json.status).to.equal('running')
    await expectAnswer(prompt, id)
  })

  it('?wait=N holds the request until the call ends, and no longer than N seconds', async () => {
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    await running(prompt)
    const started = performance.now()
    const early = await fetchCall(id, '?wait=1')
    expect(performance.now() - started).to.be.at.least(950)
    expect([early.status, early.json.status]).to.deep.equal([202, 'running'])
    const released = performance.now()
    gateway.sandbox.release(prompt)
    const replies = await Promise.all([fetchCall(id, '?wait=60'), fetchCall(id, '?wait=60')])
    expect(performance.now() - released, 'long before the wait is over').to.be.below(55_000)
    expect(replies.map((reply) => reply.status)).to.deep.equal([200, 200])
    for (const query of ['?wait=61', '?wait=-1', '?wait=x', '?wait=1.5', '?wait=', '?wait=1&wait=2']) {
      const { status, json } = await fetchCall(id, query)
      expect(status, query).to.equal(400)
      expect(json.error, query).to.include({ type: 'invalid_request', param: 'wait' })
    }
  })

  it('the answer has the same bytes as that of the waiting request, as often as it is fetched', async () => {
    for (const reply of [
      await account.image(prompted()),
      await account.chat(prompted()),
      await account.image(prompted('[status 400]')),
    ]) {
      const id = reply.headers.get('x-call-id')!
      for (const again of [await fetchCall(id), await fetchCall(id), await fetchCall(id, '?wait=5')]) {
        expect([again.status, again.text]).to.deep.equal([reply.status, reply.text])
        for (const header of ['content-type', 'x-call-id', 'x-should-retry', 'cache-control'])
          expect(again.headers.get(header), header).to.equal(reply.headers.get(header))
      }
    }
  })

  it('an expired result is 410, before and after it was deleted, and a refusal cannot be fetched', async () => {
    const first = await account.image(prompted())
    const id = first.headers.get('x-call-id')!
    const stored = () => gateway.db('call_results').where({ call_id: callOf(first) })
    await stored().update({ expires_at: gateway.db.raw("now() - interval '1 second'") })
    const expired = await fetchCall(id)
    expect([expired.status, expired.json.error.type]).to.deep.equal([410, 'result_expired'])
    await until('the sweep', async () => !(await stored().first()))
    expect((await fetchCall(id)).status).to.equal(410)
    const refused = await account.image('')
    expect((await fetchCall(refused.headers.get('x-call-id')!)).status).to.equal(404)
  })

  describe('by an Idempotency-Key', () => {
    const second = useSecondWeb(gateway)

    /** Waits until a request has joined a call of the account. */
    async function toBeJoined(): Promise<void> {
      const redis = new Redis(gateway.config.REDIS_URL)
      const channel = eventChannel(gateway.config.REDIS_PREFIX, account.id)
      await until('it to join', async () => Number(((await redis.pubsub('NUMSUB', channel)) as unknown[])[1]) > 0)
      redis.disconnect()
    }
    it('makes one call of 50 parallel requests at two processes: one charge, one bill, 49 replays', async () => {
      const prompt = prompted('[delay 100]')
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, at) => image([gateway, second][at % 2]!, account, prompt, {}, keyed('fifty'))),
      )
      expect(replies[0]!.status).to.equal(200)
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1)
      expect(replies.filter(isReplay).length).to.equal(49)
      expect(new Set(replies.map((reply) => reply.headers.get('x-call-id'))).size).to.equal(1)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
      expect(await account.balance()).to.equal(960)
      expect(await account.counts()).to.deep.equal({ calls: 1, charged: 1, entries: 2 })
    })

    it('repeats the answer, of a failed call too and with an empty balance, and charges nothing more', async () => {
      for (const [words, left] of [
        ['', 0],
        ['[status 400]', 40],
      ] as const) {
        const [prompt, spender] = [prompted(words), await gateway.account(40)]
        const first = await spender.image(prompt, {}, keyed('again'))
        const again = await spender.image(prompt, {}, keyed('again'))
        expect([again.status, again.text]).to.deep.equal([first.status, first.text])
        expect([isReplay(first), isReplay(again)]).to.deep.equal([false, true])
        expect(await spender.balance()).to.equal(left)
        expect(gateway.sandbox.journal(prompt).length).to.equal(1)
      }
    })

    it('is refused with another body, model or endpoint, but not with reordered fields', async () => {
      const prompt = prompted()
      await account.image(prompt, { resolution: '1K' }, keyed('one'))
      for (const [path, body] of [
        [IMAGES, imageBody(prompt)],
        [IMAGES, imageBody(`${prompt} `, { resolution: '1K' })],
        [IMAGES, imageBody(prompt, { resolution: '1K', model: 'hasty-image' })],
        [CHAT, chatBody(prompt)],
      ] as const) {
        const reply = await account.post(path, body, keyed('one'))
        expect([reply.status, reply.json.error.type], JSON.stringify(body)).to.deep.equal([422, 'idempotency_conflict'])
      }
      const same = await account.post(IMAGES, { resolution: '1K', prompt, model: 'sandbox-image' }, keyed('one'))
      expect([same.status, isReplay(same), await account.balance()]).to.deep.equal([200, true, 960])
    })

    it('belongs to one account, stays free when its call was refused, and again after it has expired', async () => {
      const [prompt, other] = [prompted(), await gateway.account()]
      const first = await account.image(prompt, {}, keyed('k'))
      expect((await other.image(prompt, {}, keyed('k'))).status).to.equal(402)
      expect((await other.image('', {}, keyed('k'))).status).to.equal(400)
      await aGrant(gateway.db, other.id, { amount: 40 })
      const paid = await other.image(prompt, {}, keyed('k'))
      expect([paid.status, isReplay(paid)]).to.deep.equal([200, false])
      expect(gateway.sandbox.billed(prompt).total).to.equal(2)
      await changeCall(gateway.db, first, { idempotency_expires_at: gateway.db.raw("now() - interval '1 second'") })
      const later = await account.image(prompted(), {}, keyed('k'))
      expect([later.status, isReplay(later), await account.balance()]).to.deep.equal([200, false, 920])
    })

    it('lets 100 requests of an account join calls, and refuses more until those are answered', async () => {
      const prompt = prompted('[hold]')
      const asking = () => account.image(prompt, {}, keyed('hundred'))
      const first = asking()
      await running(prompt)
      let answered = 0
      const joining = Array.from({ length: 110 }, () => asking().finally(() => answered++))
      await until('the refusals', () => answered >= 10)
      gateway.sandbox.release(prompt)
      const replies = await Promise.all(joining)
      const refused = replies.filter(({ status }) => status === 429)
      expect(refused.map(({ json }) => json.error.type)).to.deep.equal(Array(10).fill('rate_limited'))
      for (const reply of refused) expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
      const served = new Set(replies.filter(({ status }) => status === 200).map(({ text }) => text))
      expect([...served]).to.deep.equal([(await first).text])
      expect((await asking()).text).to.equal((await first).text)
    })

    it('answers asynchronously if that is preferred', async () => {
      const prompt = prompted('[hold]')
      const first = account.image(prompt, {}, keyed('async'))
      await running(prompt)
      const later = () => account.image(prompt, {}, { ...keyed('async'), prefer: 'respond-async' })
      const accepted = await later()
      gateway.sandbox.release(prompt)
      const answer = await first
      expect([accepted.status, isReplay(accepted)]).to.deep.equal([202, true])
      expect(accepted.json.id).to.equal(answer.headers.get('x-call-id'))
      const there = await later()
      expect([there.status, isReplay(there), there.text], 'what is there already').to.deep.equal([
        200,
        true,
        answer.text,
      ])
    })

    it('has the events of a call that it joins before it runs', async () => {
      const prompt = prompted('[hold]')
      await gateway.stopWorker()
      const first = account.image(prompt, {}, keyed('events'))
      await until('it to be charged', async () => (await account.balance()) === 960)
      const joining = account.image(prompt, {}, { ...keyed('events'), accept: 'text/event-stream' })
      await toBeJoined()
      await gateway.startWorker()
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      const [{ text }] = await Promise.all([joining, first])
      expect(text.match(/^event: .*$/gm)).to.deep.equal(['event: queued', 'event: running', 'event: result'])
    })

    it('lets streams join a streamed call without a second bill, which goes on when one of them leaves', async () => {
      const content = prompted('[hold] [answer a b c d e]')
      const asking = (signal?: AbortSignal) =>
        account.send('POST', CHAT, { body: chatBody(content, { stream: true }), headers: keyed('both'), signal })
      const one = asking()
      await running(content)
      const leaving = new AbortController()
      const left = asking(leaving.signal).catch(() => null)
      await toBeJoined()
      leaving.abort()
      await left
      const other = asking()
      await toBeJoined()
      gateway.sandbox.release(content)
      const [first, joined] = await Promise.all([one, other])
      for (const reply of [first, joined]) expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
      expect([isReplay(first), isReplay(joined)]).to.deep.equal([false, true])
      expect(gateway.sandbox.billed(content).total).to.equal(1)
      expect(gateway.sandbox.open(content).aborted).to.equal(0)
    })
  })
})
