import { expect } from 'chai'
import { Redis } from 'ioredis'
import { eventChannel } from '../../../src/shared/replies/channels.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, chatBody, image, imageBody, prompted, changeCall } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway, useSecondWeb } from '../../support/gateway.ts'

const keyed = (key: string): Record<string, string> => ({ 'idempotency-key': key })
const isReplay = (reply: Reply): boolean => reply.headers.get('idempotent-replayed') === 'true'

describe('Idempotency-Key', () => {
  const gateway = useGateway()
  const second = useSecondWeb(gateway)
  const account = useAccount(gateway, 1000)

  /** Waits until a request has joined a call of the account. */
  async function toBeJoined(): Promise<void> {
    const redis = new Redis(gateway.config.REDIS_URL)
    const channel = eventChannel(gateway.config.REDIS_PREFIX, account.id)
    await until('it to join', async () => Number(((await redis.pubsub('NUMSUB', channel)) as unknown[])[1]) > 0)
    redis.disconnect()
  }
  const running = (prompt: string) =>
    until('the upstream to have it', () => gateway.sandbox.open(prompt).open + gateway.sandbox.open(prompt).streams > 0)

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

  it('repeats the answer, also that of a failed call and with an empty balance, and charges nothing more', async () => {
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
    expect([there.status, isReplay(there), there.text], 'what is there already').to.deep.equal([200, true, answer.text])
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
