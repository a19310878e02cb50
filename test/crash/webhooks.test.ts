import { expect } from 'chai'
import fc from 'fast-check'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Settings } from '../../scripts/harness/harness.ts'
import type { Installation, Kind, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { until } from '../../scripts/harness/until.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { emitTo } from '../../src/shared/webhooks/deliveries.ts'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { createWebhook } from '../../src/shared/webhooks/webhooks.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { startReceiver } from '../support/webhooks.ts'
import { callOnce, image } from './clients.ts'
import type { Told } from './event-storm.ts'
import { checkAccount, openAudience, untilDelivered } from './event-storm.ts'
import { inSoak, report, seed } from './scale.ts'

/** The processes of the storm, and how each is started. */
const ROLES = ['web', 'caller', 'teller'] as const
type Role = (typeof ROLES)[number]
const startOf = (role: Role): [Kind, Settings] =>
  role === 'web'
    ? ['web', { WEBHOOK_ALLOW_PRIVATE: 'on' }]
    : ['worker', { ...WORKERS, WORKER_QUEUES: role === 'caller' ? 'image' : 'webhooks,maintenance' }]

/** How often processes are killed. */
const ROUNDS = inSoak ? 12 : 1

/** Who is killed in a round, after how many events have come, and whether Redis forgets everything. */
const round = fc.record({
  told: fc.integer({ min: 1, max: 10 }),
  victims: fc.subarray([...ROLES], { minLength: 1 }),
  flushes: fc.boolean(),
})

const WORKERS = { WORKER_QUEUES: 'image,webhooks,maintenance', WEBHOOK_ALLOW_PRIVATE: 'on' }

describe('an event', () => {
  let sandbox: Sandbox
  let town: Installation
  let web: Program
  before(async () => {
    sandbox = await createSandbox()
    town = await install(sandbox)
    web = await town.start(...startOf('web'))
  })
  afterEach(() => expectBooksToBalance(town.db))
  after(async () => {
    await town.end()
    await sandbox.close()
  })

  it('survives the kill of every worker between its cause and its delivery, and the loss of Redis', async () => {
    let hangs = true
    const receiver = await startReceiver((response) => {
      if (!hangs) response.writeHead(204).end()
    })
    const caller = await town.start('worker', { ...WORKERS, WORKER_QUEUES: 'image' })
    const account = await anAccount(town.db, 1000)
    await createWebhook(town.db, createSecretBox(town.config), account.id, {
      url: receiver.url,
      types: ['call.succeeded'],
    })
    const { status } = await callOnce(web.url, account.key, image('the cause of an event'))
    expect(status).to.equal(200)
    // Killed when nobody has been told yet.
    await caller.kill()
    const teller = await town.start('worker', WORKERS)
    await until('the receiver is asked', () => receiver.received.length > 0)
    // Killed when the receiver has the event, and has not answered.
    await teller.kill()
    await flush()
    hangs = false
    // What a claim of a minute ends by itself.
    await town.db('webhook_deliveries').where({ status: 'sending' }).update({ next_try_at: town.db.fn.now() })
    const next = await town.start('worker', WORKERS)
    await until('the event is delivered', async () =>
      (await town.db('webhook_deliveries')).every((row: { status: string }) => row.status === 'delivered'),
    )
    const [first, ...others] = receiver.received
    expect(others).to.have.length(1)
    expect(others[0]!.body).to.equal(first!.body)
    expect(others[0]!.headers['webhook-id']).to.equal(first!.headers['webhook-id'])
    await next.kill()
    await receiver.stop()
    // Four processes start, one after the other.
  }).timeout(150_000)

  it('is told of every call once, whoever dies and whatever its receivers do', async () => {
    const audience = await openAudience(town)
    const programs: Record<Role, Program | null> = { web, caller: null, teller: null }
    const callbacks = new Set<string>()
    const pending: Promise<unknown>[] = []
    const call = async ({ account, callbacks: { url } }: Told, withCallback: boolean): Promise<void> => {
      const headers: Record<string, string> = withCallback ? { 'X-Callback-Url': url } : {}
      const { reply } = await callOnce(programs.web!.url, account.key, { ...image(`of a storm ${seed}`), headers })
      const id = reply?.headers.get('x-call-id')
      if (id && withCallback) callbacks.add(id)
    }
    const came = (): number => audience.all.reduce((sum, { receiver }) => sum + receiver.received.length, 0)
    let kills = 0
    for (const { told: more, victims, flushes } of fc.sample(round, { numRuns: ROUNDS, seed })) {
      for (const role of ROLES) programs[role] ??= await town.start(...startOf(role))
      const before = came()
      for (const told of audience.all) for (const nth of [1, 2, 3]) pending.push(call(told, nth === 1))
      await until('some of it is told', () => came() >= before + more)
      for (const role of victims) {
        await programs[role]!.kill()
        programs[role] = null
        kills += 1
      }
      if (flushes) await flush()
    }
    for (const role of ROLES) programs[role] ??= await town.start(...startOf(role))
    await Promise.all(pending)
    await until('every call has ended', async () => !(await town.db('calls').whereNull('finished_at').first('id')))
    await audience.revive()
    await untilDelivered(town, audience)
    // A call whose web process died before it answered: whether it wanted to be told is in its row.
    const wanting = await town.db('calls').whereNotNull('callback_url').pluck<CallId[]>('id')
    for (const id of wanting) callbacks.add(publicId('call', id))
    let [events, tries] = [0, 0]
    for (const told of audience.all) {
      const checked = await checkAccount(town, told, callbacks)
      events += checked.events
      tries += checked.tries
    }
    expect(audience.trap.received, 'no redirect was followed').to.deep.equal([])
    await expectProbe(audience.all)
    report(`${kills} processes killed, ${events} events in ${tries} tries; seed ${seed}`)
    for (const role of ROLES) await programs[role]?.kill()
    await audience.stop()
  }).timeout(240_000 + 60_000 * ROUNDS)

  /** A receiver that is well is told while another hangs: behind it, it would wait for as long as that has time. */
  async function expectProbe(all: readonly Told[]): Promise<void> {
    const of = (manner: Told['manner']) => all.find((told) => told.manner === manner)!
    const [good, hanging] = [of('good'), of('hanging')]
    const asked = hanging.receiver.received.length
    await emitTo(town.db, hanging.webhookId, 'webhook.test', {})
    await until('the receiver that hangs is asked', () => hanging.receiver.received.length > asked)
    const [before, startedAt] = [good.receiver.received.length, performance.now()]
    await emitTo(town.db, good.webhookId, 'webhook.test', {})
    await until('the other one is told', () => good.receiver.received.length > before)
    expect(performance.now() - startedAt, 'ms').to.be.below(15_000)
  }

  async function flush(): Promise<void> {
    const redis = connectPersistent(town.config)
    const keys = await redis.keys(`${town.config.REDIS_PREFIX}:*`)
    if (keys.length > 0) await redis.del(keys)
    redis.disconnect()
  }
})
