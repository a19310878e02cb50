import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { aResult, letLapse, opened, rowOf, verbs } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const failure = gatewayError('upstream_failed')

describe('begin, submitted, requeue and renew', () => {
  const db = useBooks()
  const calls = verbs(db)

  it('count attempts, and say when an earlier one may have sent its request', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    expect(await calls.begin(id)).to.include({ attempt: 1, resumed: false })
    await calls.requeue(id, 1)
    expect(await calls.begin(id), 'nothing was sent').to.include({ attempt: 1, resumed: false })
    await calls.release(id, 1)
    expect(await calls.begin(id), 'it may have been sent').to.include({ attempt: 2, resumed: true })
    await calls.requeue(id, 2)
    expect(await calls.begin(id), 'not by the second, perhaps by the first').to.include({ attempt: 2, resumed: true })
    await calls.refund(id, failure)
  })

  it('give a call to no other run until the lease of its run has passed, in one batch or later', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    expect(await Promise.all([calls.begin(id), calls.begin(id)])).to.deep.include(null)
    const before = await rowOf(db, id)
    expect(await calls.begin(id)).to.equal(null)
    expect(await rowOf(db, id)).to.deep.equal(before)
    expect(await calls.leaseOf(id)).to.be.within(1, 6000)
    await letLapse(db, id)
    expect(await calls.leaseOf(id)).to.equal(0)
    expect(await calls.begin(id)).to.include({ attempt: 2, resumed: true })
    await calls.refund(id, failure, { attempt: 2 })
    expect(await calls.leaseOf(id)).to.equal(null)
  })

  it('return the same attempt to a run that begins again after a lost acknowledgement', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    const run = randomUUID()
    for (let time = 0; time < 2; time++) expect(await calls.begin(id, run)).to.include({ attempt: 1, resumed: false })
    await letLapse(db, id)
    expect(await calls.begin(id, run), 'nobody has taken it over').to.include({ attempt: 1, resumed: false })
    await calls.refund(id, failure)
  })

  it('repeat a begin that was acknowledged late: its lease may have passed', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    await db.raw(`
      CREATE FUNCTION begin_late() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(2.1); RETURN NEW; END $$;
      CREATE TRIGGER begin_late BEFORE UPDATE ON calls FOR EACH ROW
        WHEN (OLD.status = 'queued' AND NEW.status = 'running' AND NEW.id = '${id}') EXECUTE FUNCTION begin_late()`)
    try {
      expect(await calls.begin(id)).to.include({ attempt: 1, resumed: false })
      const { lease_until: leased, started_at: began } = (await rowOf(db, id)) as Record<string, Date>
      expect(leased!.getTime() - began!.getTime(), 'the lease since its first begin').to.be.above(6000 + 2000)
    } finally {
      await db.raw('DROP TRIGGER begin_late ON calls; DROP FUNCTION begin_late')
    }
    await calls.refund(id, failure)
  })

  it('flush a begin unless a crash of Postgres may lose it and all those of its batch', async () => {
    const account = await anAccount(db, 100)
    await db.raw(`
      CREATE TABLE begins (call_id uuid, synchronous_commit text);
      CREATE FUNCTION note_begin() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO begins VALUES (NEW.id, current_setting('synchronous_commit')); RETURN NEW; END $$;
      CREATE TRIGGER note_begin BEFORE UPDATE ON calls FOR EACH ROW
        WHEN (OLD.status = 'queued' AND NEW.status = 'running') EXECUTE FUNCTION note_begin()`)
    try {
      for (const isFlushed of [[false], [true], [false, true], [false, false]]) {
        const ids = await Promise.all(isFlushed.map(() => opened(calls, account, 1)))
        await Promise.all(ids.map((id, nth) => calls.begin(id, undefined, isFlushed[nth])))
        const noted = await db('begins').whereIn('call_id', ids).pluck<string[]>('synchronous_commit')
        expect(noted).to.deep.equal(isFlushed.map(() => (isFlushed.includes(true) ? 'on' : 'off')))
        for (const id of ids) await calls.refund(id, failure)
      }
    } finally {
      await db.raw('DROP TRIGGER note_begin ON calls; DROP FUNCTION note_begin; DROP TABLE begins')
    }
  })

  it('end and renew a call whose begin a crash of Postgres has lost, and know its cost', async () => {
    const account = await anAccount(db, 100)
    for (const end of [
      (id: CallId) => calls.settle(id, 'image', { ...aResult(4), costMicroUsd: 5 }),
      (id: CallId) => calls.refund(id, failure, { attempt: 1, costMicroUsd: 5 }),
    ]) {
      const id = await opened(calls, account, 10)
      expect(await calls.renew([{ id, attempt: 1 }], 6)).to.deep.equal([id])
      expect(await end(id)).to.include({ callId: id })
      expect(await rowOf(db, id)).to.include({ attempts: 0, cost_micro_usd: 5 })
    }
  })

  it('say that nothing was spent on a call that no worker began', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    await calls.refund(id, failure, { costMicroUsd: 5 })
    expect(await rowOf(db, id)).to.include({ status: 'failed', attempts: 0, cost_micro_usd: 0, started_at: null })
  })

  it("keep an upstream's task for the next poll, and only for the newest attempt", async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    await calls.begin(id)
    await letLapse(db, id)
    await calls.begin(id)
    expect(await calls.submitted(id, 1, { upstream: 'sandbox', ref: { id: 'old' } })).to.equal(false)
    expect(await calls.submitted(id, 2, { upstream: 'sandbox', ref: { id: 'task' } })).to.equal(true)
    expect(await calls.begin(id), 'its run polls it').to.equal(null)
    expect(await calls.submitted(id, 2, { upstream: 'sandbox', ref: { id: 'task' } }, 10_000)).to.equal(true)
    expect(await calls.leaseOf(id), 'until the next poll, and 20 s').to.be.within(25_000, 30_000)
    const polled = { upstream: 'sandbox', upstreamRef: { id: 'task' }, attempt: 2, resumed: true }
    expect(await calls.begin(id)).to.deep.include(polled)
    expect(await calls.begin(id), 'another run polls it').to.equal(null)
    await calls.refund(id, failure)
    expect(await calls.submitted(id, 2, { upstream: 'sandbox', ref: { id: 'task' } })).to.equal(false)
  })

  it('find a call whose lease has passed, until it is renewed by its own attempt', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    const isStale = async (): Promise<boolean> => (await calls.findStale(1000)).some((call) => call.id === id)
    expect(await isStale()).to.equal(false)
    await calls.begin(id)
    await letLapse(db, id)
    expect(await calls.renew([{ id, attempt: 0 }], 6), 'whoever saw it queued').to.deep.equal([])
    expect(await isStale()).to.equal(true)
    expect(await calls.renew([{ id, attempt: 1 }], 6)).to.deep.equal([id])
    expect(await isStale()).to.equal(false)
    await calls.refund(id, failure)
    expect(await calls.renew([{ id, attempt: 1 }], 6), 'it has ended').to.deep.equal([])
  })
})
