import { expect } from 'chai'
import { Redis } from 'ioredis'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Program } from '../../../scripts/harness/installation.ts'
import { IMAGES, callOf, image, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { useInstallation } from '../../support/installed.ts'

const numbered = (count: number): Record<string, string> => ({ 'x-stainless-retry-count': String(count) })
const isReplay = (reply: Reply): boolean => reply.headers.get('idempotent-replayed') === 'true'

describe('a retry that an SDK numbers', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1000)

  /** Sends a call and disconnects once it is charged. */
  async function abandon(prompt: string): Promise<void> {
    await abandonMany(prompt, 1)
    await until('the disconnect to be recorded', left)
  }

  /** Lets the upstream go on with what it holds, once it has so many. */
  async function release(prompt: string, count = 1): Promise<void> {
    let released = 0
    await until('the upstream to have them', () => (released += gateway.sandbox.release(prompt)) >= count)
  }

  it('joins the call whose client disconnected: one charge, one bill', async () => {
    const prompt = prompted('[hold]')
    await abandon(prompt)
    const joining = image(gateway, account, prompt, {}, numbered(1))
    await until('the retry to have joined', async () => (await left()) === 0)
    await release(prompt)
    const retry = await joining
    expect([retry.status, isReplay(retry)]).to.deep.equal([200, true])
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('gets the answer of such a call that has ended meanwhile, and only once: the next makes a new call', async () => {
    const prompt = prompted('[delay 150]')
    await abandon(prompt)
    await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first())
    expect(isReplay(await image(gateway, account, prompt, {}, numbered(2)))).to.equal(true)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(isReplay(await image(gateway, account, prompt, {}, numbered(2)))).to.equal(false)
    expect(gateway.sandbox.billed(prompt).total).to.equal(2)
  })

  it('makes a new call if the first was answered, or if the body differs', async () => {
    const prompt = prompted()
    await image(gateway, account, prompt, {}, numbered(0))
    expect(isReplay(await image(gateway, account, prompt, {}, numbered(1)))).to.equal(false)
    const slow = prompted('[delay 300]')
    await abandon(slow)
    expect(isReplay(await image(gateway, account, `${slow} other`, {}, numbered(1)))).to.equal(false)
  })

  it('joins a call whose client disconnected before it was charged', async () => {
    const prompt = prompted('[delay 300]')
    const leaving = new AbortController()
    await gateway.db.transaction(async (trx) => {
      await trx('accounts').where({ id: account.id }).forUpdate().first('id')
      const sent = send('POST', `${gateway.url}${IMAGES}`, {
        key: account.key,
        body: imageBody(prompt),
        headers: numbered(0),
        signal: leaving.signal,
      }).catch(() => null)
      await untilItWaits(gateway.db, '%open_calls%')
      leaving.abort()
      await sent
      // The service has noticed the disconnect once it has answered a later request.
      for (let later = 0; later < 3; later++) await get(`${gateway.url}/healthz`)
    })
    await until('the disconnect to be recorded', () =>
      gateway.db('calls').where({ account_id: account.id }).whereNotNull('abandoned_at').first(),
    )
    expect(isReplay(await image(gateway, account, prompt, {}, numbered(1)))).to.equal(true)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  it('can itself be abandoned, and joined by another', async () => {
    const prompt = prompted('[hold]')
    await abandon(prompt)
    const leaving = new AbortController()
    const second = send('POST', `${gateway.url}${IMAGES}`, {
      key: account.key,
      body: imageBody(prompt),
      headers: numbered(1),
      signal: leaving.signal,
    }).catch(() => null)
    await until('the second to have joined', async () => (await left()) === 0)
    leaving.abort()
    await second
    await until('the disconnect to be recorded', () =>
      gateway.db('calls').where({ account_id: account.id }).whereNotNull('abandoned_at').first(),
    )
    const third = image(gateway, account, prompt, {}, numbered(2))
    await release(prompt)
    expect(isReplay(await third)).to.equal(true)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  /** Sends equal calls and disconnects once all are charged. No worker takes them before. */
  async function abandonMany(prompt: string, count: number, urls = [gateway.url]): Promise<void> {
    await gateway.stopWorker()
    const before = await callCount()
    const leaving = new AbortController()
    const sent = Array.from({ length: count }, (_, at) =>
      send('POST', `${urls[at % urls.length]}${IMAGES}`, {
        key: account.key,
        body: imageBody(prompt),
        headers: numbered(0),
        signal: leaving.signal,
      }).catch(() => null),
    )
    await until('the charges', async () => (await callCount()) === before + count)
    leaving.abort()
    await Promise.all(sent)
    await gateway.startWorker()
  }

  const callCount = async (): Promise<number> => (await gateway.db('calls').where({ account_id: account.id })).length

  const left = async (): Promise<number> =>
    (await gateway.db('calls').where({ account_id: account.id }).whereNotNull('abandoned_at')).length
  const callIds = (replies: Reply[]): Set<string | null> =>
    new Set(replies.map((reply) => reply.headers.get('x-call-id')))

  it('joins one of five calls that run, beside four retries at three processes; a sixth is new', async () => {
    const others = [await startTestWeb(gateway.config), await startTestWeb(gateway.config)]
    try {
      const prompt = prompted('[hold]')
      const webs = [gateway, ...others]
      await abandonMany(
        prompt,
        5,
        webs.map(({ url }) => url),
      )
      await until('the disconnect to be recorded', async () => (await left()) === 5)
      const answered: string[] = []
      const retrying = Array.from({ length: 6 }, (_, at) => image(webs[at % 3]!, account, prompt, {}, numbered(1)))
      for (const one of retrying) one.then(({ text }) => answered.push(text)).catch(() => {})
      await until('a sixth call', async () => {
        // The upstream holds all of them: an answer now is a refusal.
        expect(answered).to.deep.equal([])
        return (await callCount()) === 6
      })
      await release(prompt, 6)
      const retries = await Promise.all(retrying)
      expect(retries.map((reply) => reply.status)).to.deep.equal([200, 200, 200, 200, 200, 200])
      expect(retries.filter(isReplay).length).to.equal(5)
      expect(callIds(retries).size).to.equal(6)
      expect(gateway.sandbox.billed(prompt).total).to.equal(6)
      expect(await balanceOf(gateway.db, account.id)).to.equal(760)
    } finally {
      await Promise.all(others.map((web) => web.stop()))
    }
  })

  it('joins a call even before its disconnect is recorded', async () => {
    for (let time = 0; time < 2; time++) {
      const prompt = prompted('[delay 300]')
      await abandonMany(prompt, 1)
      expect(isReplay(await image(gateway, account, prompt, {}, numbered(1)))).to.equal(true)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    }
    expect(await balanceOf(gateway.db, account.id)).to.equal(920)
  })

  it('joins no call of another account, no failed call, and none older than ten minutes', async () => {
    const [prompt, other] = [prompted('[delay 200]'), await anAccount(gateway.db, 1000)]
    await abandon(prompt)
    expect(isReplay(await image(gateway, other, prompt, {}, numbered(1)))).to.equal(false)
    await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first())
    await gateway
      .db('calls')
      .where({ account_id: account.id })
      .update({ created_at: gateway.db.raw("now() - interval '601 seconds'") })
    expect(isReplay(await image(gateway, account, prompt, {}, numbered(1)))).to.equal(false)
    const failing = prompted('[status 400]')
    await abandonMany(failing, 1)
    await until('the leaving and the end', () =>
      gateway.db('calls').where({ account_id: account.id, status: 'failed' }).whereNotNull('abandoned_at').first(),
    )
    expect(isReplay(await image(gateway, account, failing, {}, numbered(1)))).to.equal(false)
  })
})

describe('a retry after the web process of its first attempt was killed', () => {
  const own = useInstallation({}, { imageSeconds: 0.05 })
  const account = useAccount(own, 1000)
  let survivor: Program
  let worker: Promise<Program> | undefined
  before(async () => {
    survivor = await own.start('web')
  })

  const startWorker = (): Promise<Program> => (worker ??= own.start('worker'))

  it('joins a call that runs, or has ended since, each retry another one', async () => {
    const running = prompted('[delay 1000]')
    const quick = prompted()
    const victim = await own.start('web')
    const sent = [running, running, quick, quick].map((prompt) =>
      image(victim, account, prompt, {}, numbered(0)).catch(() => null),
    )
    await victim.reaches('call.enqueued', 4)
    await victim.kill()
    expect(await Promise.all(sent)).to.deep.equal([null, null, null, null])
    await startWorker()
    for (const prompt of [running, quick]) {
      const retries = await Promise.all([1, 2].map(() => image(survivor, account, prompt, {}, numbered(1))))
      expect(
        retries.map((reply) => [reply.status, isReplay(reply)]),
        retries[0]!.text,
      ).to.deep.equal([
        [200, true],
        [200, true],
      ])
      expect(new Set(retries.map((reply) => reply.headers.get('x-call-id'))).size).to.equal(2)
      expect(isReplay(await image(survivor, account, prompt, {}, numbered(2)))).to.equal(false)
      expect(own.sandbox.billed(prompt).total).to.equal(3)
      // Its next retries come once it has ended.
      const calls = () => own.db('calls').where({ account_id: account.id, status: 'succeeded' })
      await until('the end of all', async () => (await calls()).length >= 5)
    }
    expect(await balanceOf(own.db, account.id)).to.equal(1000 - 6 * 40)
  })

  it('makes a new call if that process had answered the first, or stopped in order', async () => {
    await startWorker()
    const redis = new Redis(own.installation.config.REDIS_URL)
    const heartbeats = `${own.installation.config.REDIS_PREFIX}:web-processes`
    try {
      for (const end of ['kill', 'stop'] as const) {
        const prompt = prompted()
        const victim = await own.start('web')
        const first = await image(victim, account, prompt, {}, numbered(0))
        const answeredAt = Date.now()
        const { reply_to: address } = await own
          .db('calls')
          .where({ id: callOf(first) })
          .first<{ reply_to: string }>('reply_to')
        if (end === 'kill')
          await until(
            'heartbeats after the answer',
            async () => Number(await redis.hget(heartbeats, address)) > answeredAt + 3000,
          )
        await victim[end]()
        expect(isReplay(await image(survivor, account, prompt, {}, numbered(1))), end).to.equal(false)
        expect(own.sandbox.billed(prompt).total, end).to.equal(2)
      }
    } finally {
      redis.disconnect()
    }
  })
})
