import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import type { Job } from 'bullmq'
import type { Catalogue, ChatModel } from '../../../src/shared/catalogue/catalogue.ts'
import { findModel } from '../../../src/shared/catalogue/catalogue.ts'
import { parseCatalogue } from '../../../src/shared/catalogue/parse.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { FAILPOINT_CHANNEL } from '../../../src/shared/platform/process/failpoints.ts'
import type { Failpoint } from '../../../src/shared/platform/process/failpoints.ts'
import type { CallJob } from '../../../src/shared/queues.ts'
import { takeCall } from '../../../src/workers/calls/begin.ts'
import { Cancelled } from '../../../src/workers/calls/held-calls.ts'
import { recordOf } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { opened, verbs } from '../../shared/calls/opening.ts'
import { expectBooksToBalance } from '../../support/books.ts'

const ROW = { model: 'sandbox-chat', replyTo: 'web', charged: 7, estimate: { input: 3, output: 4 } }
const FAILURE = { type: 'upstream_failed', message: 'x', param: null, code: 'upstream_failed' } as const

type Changes = Partial<Omit<Job<CallJob>, 'data'>> & { data?: Partial<CallJob> }

/** A job as its queue hands it over at its first run. */
const aJob = (callId: CallId, { data, ...changes }: Changes = {}): Job<CallJob> =>
  ({
    name: 'chat',
    stalledCounter: 0,
    attemptsMade: 0,
    attemptsStarted: 1,
    data: {
      callId,
      accountId: newId('account'),
      request: { messages: [], max_tokens: 5 },
      catalogueVersion: 1,
      requestId: 'r',
      deadlineAt: Date.now() + 300_000,
      row: ROW,
      ...data,
    },
    ...changes,
  }) as Job<CallJob>

describe('the begin of a call', () => {
  let gateway: Gateway
  let catalogue: Catalogue
  let model: ChatModel
  before(async () => {
    gateway = await startGateway()
    const { content, version } = (await readVersion(gateway.db, 'newest'))!
    catalogue = parseCatalogue(content, { version, createdAt: 0 }, gateway.config.secretOf)
    model = findModel(catalogue, ROW.model, 'chat') as ChatModel
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  /** An open chat that no worker has. */
  async function aChat(price = model.price): Promise<CallId> {
    const account = await anAccount(gateway.db, 1000)
    const { estimate } = ROW
    return opened(verbs(gateway.db), account, 7, { modality: 'chat', model: ROW.model, price, estimate })
  }
  const attemptsOf = async (id: CallId): Promise<number> =>
    (await gateway.db('calls').where({ id }).first<{ attempts: number }>('attempts')).attempts

  it('is written while the upstream of a fresh chat is asked, streamed or whole', async () => {
    const calls = verbs(gateway.db)
    for (const stream of [true, false]) {
      const id = await aChat()
      const taken = await takeCall({ calls }, aJob(id, { data: { request: { stream } as never } }), catalogue)
      expect(await attemptsOf(id)).to.equal(0)
      expect(taken!.call).to.include({ attempt: 1, resumed: false, charged: 7, replyTo: 'web', price: model.price })
      const ending = new AbortController()
      expect(await taken!.begin(ending)).to.equal(true)
      expect(ending.signal.aborted).to.equal(false)
      expect(taken!.call).to.include({ attempt: 1, resumed: false, charged: 7, replyTo: 'nobody' })
      expect(taken!.call.remainingMs, 'by the clock of the database').to.be.above(3_000_000)
      await calls.refund(id, FAILURE, { attempt: 1 })
    }
  })

  const first: [string, Changes][] = [
    ['of a job that was taken before', { attemptsStarted: 2 }],
    ['of a job whose worker died', { stalledCounter: 1 }],
    ['of a job that has failed', { attemptsMade: 1 }],
    ['of a job that Redis may have lost', { data: { again: true } }],
    ['of a chat whose time is over by the clock of its worker', { data: { deadlineAt: Date.now() - 1 } }],
    ['of a job without what its row says', { data: { row: undefined } }],
    ['of a model that is not offered', { data: { row: { ...ROW, model: 'nobody' } } }],
  ]
  for (const [what, changes] of first) {
    it(`is written first ${what}`, async () => {
      const calls = verbs(gateway.db)
      const id = await aChat()
      const taken = await takeCall({ calls }, aJob(id, changes), catalogue)
      const attempts = await attemptsOf(id)
      expect(taken!.call.attempt).to.equal(attempts).and.to.be.above(0)
      expect(await taken!.begin(new AbortController())).to.equal(true)
      expect(await attemptsOf(id)).to.equal(attempts)
      await calls.refund(id, FAILURE)
      expect(await takeCall({ calls }, aJob(id, changes), catalogue), 'ended').to.equal(null)
    })
  }

  it('counts an earlier run that may have left none, but of no image and no video', async () => {
    const calls = verbs(gateway.db)
    for (const changes of [{ stalledCounter: 1 }, { attemptsMade: 1 }, { data: { again: true } }]) {
      const [chat, video] = [await aChat(), await aChat()]
      const asked = await takeCall({ calls }, aJob(chat, changes), catalogue)
      expect(asked!.call).to.include({ attempt: 2, resumed: true })
      const submitted = await takeCall({ calls }, aJob(video, { ...changes, name: 'video' }), catalogue)
      expect(submitted!.call).to.include({ attempt: 1, resumed: false })
      for (const id of [chat, video]) await calls.refund(id, FAILURE)
    }
  })

  it('ends the work on a call that has ended meanwhile', async () => {
    const calls = verbs(gateway.db)
    const id = await aChat()
    const taken = await takeCall({ calls }, aJob(id), catalogue)
    await calls.refund(id, FAILURE, { from: 'queued' })
    const ending = new AbortController()
    expect(await taken!.begin(ending)).to.equal(false)
    expect(ending.signal.reason).to.be.an.instanceOf(Cancelled)
  })

  it('ends the work on a call that another run has begun meanwhile', async () => {
    const calls = verbs(gateway.db)
    const id = await aChat()
    const taken = await takeCall({ calls }, aJob(id), catalogue)
    await calls.begin(id)
    const ending = new AbortController()
    expect(await taken!.begin(ending)).to.equal(false)
    expect(ending.signal.aborted).to.equal(true)
    expect(await attemptsOf(id), 'the attempt of the other run').to.equal(1)
    await calls.refund(id, FAILURE, { attempt: 1 })
  })

  it('leaves a call whose row has another price to the next run of its job', async () => {
    const calls = verbs(gateway.db)
    const id = await aChat({ ...model.price, minimum: 99 })
    const taken = await takeCall({ calls }, aJob(id), catalogue)
    const ending = new AbortController()
    const error = await taken!.begin(ending).catch((thrown: unknown) => thrown)
    expect(error).to.be.an.instanceOf(Error)
    expect(ending.signal.aborted).to.equal(true)
    await calls.refund(id, FAILURE)
  })

  it('is awaited before the end, however fast the upstream answers', async () => {
    const { db, url } = gateway
    const account = await anAccount(db, 1000)
    // Whoever begins a call waits for this lock.
    await db.raw(`
      CREATE FUNCTION wait_to_begin() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$;
      CREATE TRIGGER wait_to_begin BEFORE UPDATE ON calls FOR EACH ROW WHEN (NEW.status = 'running')
        EXECUTE FUNCTION wait_to_begin()`)
    const steps: string[] = []
    const note = (message: unknown): void => void steps.push((message as Failpoint).name)
    subscribe(FAILPOINT_CHANNEL, note)
    try {
      const messages = [{ role: 'user', content: 'fast' }]
      const answers = await db.transaction(async (transaction) => {
        await transaction.raw('SELECT pg_advisory_xact_lock(4711)')
        const answer = post(`${url}/v1/chat/completions`, account.key, { model: 'sandbox-chat', messages })
        await until('the upstream to have answered', () => steps.includes('upstream.answered'))
        return [answer]
      })
      const reply = await answers[0]!
      expect(reply.status, reply.text).to.equal(200)
      expect(await recordOf(db, reply)).to.include({ status: 'succeeded', attempts: 1, upstream: 'sandbox' })
      const order = ['upstream.answered', 'call.begun', 'call.settling']
      expect(steps.filter((step) => order.includes(step))).to.deep.equal(order)
    } finally {
      unsubscribe(FAILPOINT_CHANNEL, note)
      await db.raw('DROP TRIGGER wait_to_begin ON calls; DROP FUNCTION wait_to_begin')
    }
  })
})
