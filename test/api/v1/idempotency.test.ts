import { expect } from 'chai'
import { Redis } from 'ioredis'
import { eventChannel } from '../../../src/shared/replies/channels.ts'
import { aGrant, anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { post, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import {
  CHAT,
  IMAGES,
  chat,
  chatBody,
  countsOf,
  image,
  imageBody,
  prompted,
  changeCall,
} from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway, useSecondWeb } from '../../support/gateway.ts'
import { chunksOf, textOf } from './support/chunks.ts'

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
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
    expect(await countsOf(gateway.db, account)).to.deep.equal({ calls: 1, charged: 1, entries: 2 })
  })

  it('repeats the answer, also that of a failed call, and charges nothing more', async () => {
    for (const words of ['', '[status 400]']) {
      const prompt = prompted(words)
      const first = await image(gateway, account, prompt, {}, keyed(`again ${words}`))
      const balance = await balanceOf(gateway.db, account.id)
      const second = await image(gateway, account, prompt, {}, keyed(`again ${words}`))
      expect([second.status, second.text, isReplay(first), isReplay(second)]).to.deep.equal([
        first.status,
        first.text,
        false,
        true,
      ])
      expect(await balanceOf(gateway.db, account.id)).to.equal(balance)
      expect(gateway.sandbox.journal(prompt).length).to.equal(1)
    }
  })

  it('repeats the answer with an empty balance', async () => {
    const spender = await anAccount(gateway.db, 40)
    const prompt = prompted()
    const first = await image(gateway, spender, prompt, {}, keyed('k'))
    expect(first.json.usage.balance).to.equal(0)
    expect((await image(gateway, spender, prompt, {}, keyed('k'))).text).to.equal(first.text)
  })

  it('is refused with another body, model or endpoint, but not with reordered fields', async () => {
    const prompt = prompted()
    await image(gateway, account, prompt, { resolution: '1K' }, keyed('one'))
    for (const [path, body] of [
      [IMAGES, imageBody(prompt)],
      [IMAGES, imageBody(`${prompt} `, { resolution: '1K' })],
      [IMAGES, imageBody(prompt, { resolution: '1K', model: 'hasty-image' })],
      [CHAT, chatBody(prompt)],
    ] as const) {
      const reply = await post(`${gateway.url}${path}`, account.key, body, keyed('one'))
      expect([reply.status, reply.json.error.type], JSON.stringify(body)).to.deep.equal([422, 'idempotency_conflict'])
    }
    const same = await post(
      `${gateway.url}${IMAGES}`,
      account.key,
      { resolution: '1K', prompt, model: 'sandbox-image' },
      keyed('one'),
    )
    expect([same.status, isReplay(same)]).to.deep.equal([200, true])
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('belongs to one account', async () => {
    const [prompt, other] = [prompted(), await anAccount(gateway.db, 1000)]
    const replies = [
      await image(gateway, account, prompt, {}, keyed('shared')),
      await image(gateway, other, prompt, {}, keyed('shared')),
    ]
    expect(replies.map(isReplay)).to.deep.equal([false, false])
    expect(gateway.sandbox.billed(prompt).total).to.equal(2)
  })

  it('stays free when its call was refused', async () => {
    const empty = await anAccount(gateway.db)
    const prompt = prompted()
    expect((await image(gateway, empty, prompt, {}, keyed('k'))).status).to.equal(402)
    expect((await image(gateway, empty, '', {}, keyed('k'))).status).to.equal(400)
    await aGrant(gateway.db, empty.id, { amount: 40 })
    const reply = await image(gateway, empty, prompt, {}, keyed('k'))
    expect([reply.status, isReplay(reply)]).to.deep.equal([200, false])
  })

  it('can be used again after it has expired', async () => {
    const prompt = prompted()
    const first = await image(gateway, account, prompt, {}, keyed('k'))
    await changeCall(gateway.db, first, { idempotency_expires_at: gateway.db.raw("now() - interval '1 second'") })
    const second = await image(gateway, account, prompted(), {}, keyed('k'))
    expect([second.status, isReplay(second)]).to.deep.equal([200, false])
    expect(await balanceOf(gateway.db, account.id)).to.equal(920)
  })

  it('must be 1 to 255 printable characters', async () => {
    for (const key of ['a', ' a b ~!"', 'x'.repeat(255)])
      expect((await image(gateway, account, prompted(), {}, keyed(key))).status, key).to.equal(200)
  })

  it('lets 100 requests of an account join calls, and refuses more until those are answered', async () => {
    const prompt = prompted('[hold]')
    const first = image(gateway, account, prompt, {}, keyed('hundred'))
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    let answered = 0
    const joining = Array.from({ length: 110 }, () =>
      image(gateway, account, prompt, {}, keyed('hundred')).finally(() => {
        answered += 1
      }),
    )
    await until('the refusals', () => answered >= 10)
    gateway.sandbox.release(prompt)
    const replies = await Promise.all(joining)
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused.map(({ json }) => json.error.type)).to.deep.equal(Array(10).fill('rate_limited'))
    for (const reply of refused) expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
    const text = (await first).text
    expect(new Set(replies.filter(({ status }) => status === 200).map((reply) => reply.text))).to.deep.equal(
      new Set([text]),
    )
    expect((await image(gateway, account, prompt, {}, keyed('hundred'))).text).to.equal(text)
  })

  it('answers in the form that the new request asks for', async () => {
    const content = prompted('[answer one two] [usage 5 6]')
    const whole = await chat(gateway, account, content, {}, keyed('form'))
    const streamed = await chat(
      gateway,
      account,
      content,
      { stream: true, stream_options: { include_usage: true } },
      keyed('form'),
    )
    expect([streamed.status, isReplay(streamed)]).to.deep.equal([200, true])
    expect(streamed.text).to.match(/data: \[DONE\]\n\n$/)
    const chunks = chunksOf(streamed.text)
    expect(textOf(chunks)).to.equal('one two')
    expect(chunks.at(-1)!.usage).to.deep.equal(whole.json.usage)
    expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason === 'stop').length).to.equal(1)
    const back = await chat(gateway, account, content, {}, keyed('form'))
    expect(back.text).to.equal(whole.text)

    const first = await chat(gateway, account, content, { stream: true }, keyed('streamed first'))
    const then = await chat(gateway, account, content, {}, keyed('streamed first'))
    expect([then.status, isReplay(then), then.json.choices[0].message.content]).to.deep.equal([200, true, 'one two'])
    expect(first.text).to.include(JSON.stringify(then.json.usage))
    expect(gateway.sandbox.billed(content).total).to.equal(2)
  })

  it('answers asynchronously if that is preferred', async () => {
    const prompt = prompted('[hold]')
    const first = image(gateway, account, prompt, {}, keyed('async'))
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    const second = await image(gateway, account, prompt, {}, { ...keyed('async'), prefer: 'respond-async' })
    gateway.sandbox.release(prompt)
    const answer = await first
    expect([second.status, isReplay(second), second.json.id]).to.deep.equal([
      202,
      true,
      answer.headers.get('x-call-id'),
    ])
    const third = await image(gateway, account, prompt, {}, { ...keyed('async'), prefer: 'respond-async' })
    expect([third.status, isReplay(third), third.text], 'what is there already').to.deep.equal([200, true, answer.text])
  })

  for (const [when, isRunning] of [
    ['a running call', true],
    ['a queued call once it is running', false],
  ] as const) {
    it(`has the events of ${when} that it joins`, async () => {
      const prompt = prompted('[hold]')
      const key = keyed(`events of ${when}`)
      if (!isRunning) await gateway.stopWorker()
      const first = image(gateway, account, prompt, {}, key)
      if (isRunning) await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
      else await until('it to be charged', async () => (await balanceOf(gateway.db, account.id)) === 960)
      const joining = image(gateway, account, prompt, {}, { ...key, accept: 'text/event-stream' })
      await toBeJoined()
      await gateway.startWorker()
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      const [{ text }] = await Promise.all([joining, first])
      expect(text.match(/^event: .*$/gm)).to.deep.equal(['event: queued', 'event: running', 'event: result'])
    })
  }

  it('lets a stream join a streamed call without a second bill', async () => {
    const content = prompted('[hold] [answer a b c d e]')
    const one = chat(gateway, account, content, { stream: true }, keyed('both'))
    await until('the stream', () => gateway.sandbox.open(content).streams > 0)
    const other = chat(gateway, account, content, { stream: true }, keyed('both'))
    gateway.sandbox.release(content)
    const [first, second] = await Promise.all([one, other])
    for (const reply of [first, second]) expect(reply.text).to.match(/data: \[DONE\]\n\n$/)
    expect([isReplay(first), isReplay(second)]).to.deep.equal([false, true])
    expect(gateway.sandbox.billed(content).total).to.equal(1)
  })

  it('does not end a stream for one reader when another disconnects', async () => {
    const content = prompted('[hold] [answer a b c d e f g h]')
    const first = chat(gateway, account, content, { stream: true }, keyed('leave'))
    await until('the stream', () => gateway.sandbox.open(content).streams > 0)
    const leaving = new AbortController()
    const second = send('POST', `${gateway.url}${CHAT}`, {
      key: account.key,
      body: chatBody(content, { stream: true }),
      headers: keyed('leave'),
      signal: leaving.signal,
    }).catch(() => null)
    await toBeJoined()
    leaving.abort()
    await second
    gateway.sandbox.release(content)
    expect((await first).text).to.match(/data: \[DONE\]\n\n$/)
    expect(gateway.sandbox.open(content).aborted).to.equal(0)
  })
})
