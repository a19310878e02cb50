import { expect } from 'chai'
import type { Job } from 'bullmq'
import { priceVersionOf } from '../../../src/shared/calls/price-versions.ts'
import type { BegunCall } from '../../../src/shared/calls/types.ts'
import type { Catalogue } from '../../../src/shared/catalogue/catalogue.ts'
import { findModel } from '../../../src/shared/catalogue/catalogue.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'
import { newId } from '../../../src/shared/ids.ts'
import type { CallJob } from '../../../src/shared/infra/queues.ts'
import { LateBegin, mayFollowUnwritten, takeUnwritten } from '../../../src/workers/calls/late-begin.ts'
import { parseCatalogue } from '../../../src/shared/catalogue/parse.ts'
import { recordOf } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../../support/books.ts'

const row = {
  model: 'sandbox-chat',
  accountId: newId('account'),
  replyTo: 'web',
  charged: 7,
  estimate: { input: 3, output: 4 },
}

type Changes = Partial<Omit<Job<CallJob>, 'data'>> & { data?: Partial<CallJob> }

/** A job as its queue hands it over at its first run. */
const aJob = ({ data, ...changes }: Changes = {}): Job<CallJob> =>
  ({
    name: 'chat',
    timestamp: Date.now(),
    stalledCounter: 0,
    attemptsMade: 0,
    data: {
      callId: newId('call'),
      accountId: newId('account'),
      request: { messages: [], max_tokens: 5 },
      requestId: 'r',
      deadlineAt: Date.now() + 300_000,
      row,
      ...data,
    },
    ...changes,
  }) as Job<CallJob>

describe('a chat whose begin can wait', () => {
  let gateway: Gateway
  let catalogue: Catalogue
  before(async () => {
    gateway = await startGateway()
    const { content, version } = (await readVersion(gateway.db, 'newest'))!
    catalogue = parseCatalogue(content, { version, createdAt: 0 }, gateway.config.secretOf)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  it('is taken as its job and the version of its catalogue say', () => {
    const model = findModel(catalogue, 'sandbox-chat', 'chat')!
    const call = takeUnwritten(aJob(), catalogue)
    expect(call).to.include({ attempt: 0, resumed: false, charged: 7, replyTo: 'web', price: model.price })
    expect(call!.remainingMs).to.be.within(200_000, 300_000)
  })

  const first: [string, Changes][] = [
    ['of a job that may have run before', { stalledCounter: 1 }],
    ['of a job that has failed', { attemptsMade: 1 }],
    ['of a job that Redis may have lost', { data: { again: true } }],
    ['of a stream', { data: { request: { messages: [], max_tokens: 5, stream: true } } }],
    ['of a picture', { name: 'image' }],
    ['of a job that waited', { timestamp: Date.now() - 60_000 }],
    ['of a job from a clock that is ahead', { timestamp: Date.now() + 60_000 }],
    ['of a chat that must end soon', { data: { deadlineAt: Date.now() + 3000 } }],
    ['of a job without what its row says', { data: { row: undefined } }],
    ['of a model that is not offered', { data: { row: { ...row, model: 'nobody' } } }],
  ]
  for (const [what, changes] of first) {
    it(`is none ${what}: its begin is written first`, () => {
      expect(takeUnwritten(aJob(changes), catalogue)).to.equal(null)
    })
  }

  it('counts an earlier run that may have left no begin, but of none that cannot', () => {
    const again = [{ stalledCounter: 1 }, { attemptsMade: 1 }, { data: { again: true } }]
    for (const changes of again) {
      expect(mayFollowUnwritten(aJob(changes))).to.equal(true)
      expect(mayFollowUnwritten(aJob({ ...changes, name: 'video' }))).to.equal(false)
    }
    expect(mayFollowUnwritten(aJob())).to.equal(false)
  })

  it('has none where it ends before, and says so', async () => {
    const call = takeUnwritten(aJob(), catalogue)!
    const begin = new LateBegin(call, 60_000, () => expect.fail('it has ended'))
    const unwritten = await begin.stop()
    expect(unwritten).to.include({ priceVersion: priceVersionOf('sandbox-chat', call.price).id })
    expect(unwritten!.ranMs).to.be.at.least(0)
  })

  it('ends only after a begin that is being written, as the attempt that it became', async () => {
    const call: BegunCall = takeUnwritten(aJob(), catalogue)!
    let written = (): void => {}
    const begin = new LateBegin(call, 1, async () => {
      await new Promise<void>((resolve) => (written = resolve))
      call.attempt = 1
    })
    const noop = written
    await until('the begin is being written', () => Promise.resolve(written !== noop))
    const stopped = begin.stop()
    written()
    expect(await stopped).to.equal(null)
  })

  it('is begun where it lasts, and ends with one attempt', async () => {
    const { db, url } = gateway
    const account = await anAccount(db, 1000)
    const messages = [{ role: 'user', content: 'it lasts [hold]' }]
    const answer = post(`${url}/v1/chat/completions`, account.key, { model: 'sandbox-chat', messages })
    await until('it has begun', () => db('calls').where({ account_id: account.id, status: 'running' }).first('id'))
    await until('the upstream to have it', () => gateway.sandbox.release('it lasts') > 0)
    const reply = await answer
    expect(reply.status, reply.text).to.equal(200)
    expect(await recordOf(db, reply)).to.include({ status: 'succeeded', attempts: 1 })
  })

  it('has one attempt, an upstream and a latency where it was not', async () => {
    const { db, url } = gateway
    const account = await anAccount(db, 1000)
    const messages = [{ role: 'user', content: 'short' }]
    const reply = await post(`${url}/v1/chat/completions`, account.key, { model: 'sandbox-chat', messages })
    expect(reply.status, reply.text).to.equal(200)
    expect(await recordOf(db, reply)).to.include({ status: 'succeeded', attempts: 1, upstream: 'sandbox' })
    const call = await db('calls').where({ account_id: account.id }).first<{ started_at: Date; created_at: Date }>()
    expect(call.started_at.getTime()).to.be.at.least(call.created_at.getTime())
  })
})
