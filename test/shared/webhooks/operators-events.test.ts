import { expect } from 'chai'
import { noteOpening, noteRecovery, noteStillWorking } from '../../../src/shared/operators/upstreams.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import type { WorkerDeps } from '../../../src/workers/deps.ts'
import { reconcileCalls } from '../../../src/workers/reconciler.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { letLapse, opened, verbs } from '../calls/opening.ts'
import { aHouse } from './house.ts'
import { useBooks } from '../../support/database.ts'

/** A reconciler beside a queue that has forgotten every job. */
const reconciling = (db: Db) =>
  ({
    db,
    calls: verbs(db),
    queues: { hasJob: async () => false, isLeftToWeb: async () => false },
    log: createLog('silent', 'worker'),
    publisher: { ended: async () => {} },
  }) as unknown as WorkerDeps

describe("an event of the operators'", () => {
  const db = useBooks({ isOwn: true })

  it('of a call that the reconciler refunds is told to the operators, in the transaction that refunds it', async () => {
    const house = await aHouse(db)
    const account = await anAccount(db, 100)
    const calls = verbs(db)
    const lost = gatewayError('upstream_failed')
    const [ordinary, found] = [await opened(calls, account, 10), await opened(calls, account, 20)]
    await calls.refund(ordinary, lost, { attempt: 0 })
    expect(await house.told()).to.deep.equal([])
    await db.raw(`ALTER TABLE webhook_deliveries ADD CONSTRAINT broken CHECK (type !~ '^reconciler') NOT VALID`)
    const failure: unknown = await calls.refund(found, lost, { reconciled: true }).catch((error: unknown) => error)
    await db.raw('ALTER TABLE webhook_deliveries DROP CONSTRAINT broken')
    expect(String(failure)).to.include('broken')
    expect(await db('calls').where({ id: found }).first('status')).to.deep.equal({ status: 'queued' })
    await letLapse(db, found)
    for (let time = 0; time < 2; time += 1) await reconcileCalls(reconciling(db))
    const told = await house.told()
    expect(told).to.have.length(1)
    const { call, account: whose, ...data } = told[0]!.data
    expect([parseId('call', String(call)), parseId('account', String(whose))]).to.deep.equal([found, account.id])
    const about = { status: 'failed', model: 'some-image', modality: 'image', error: 'upstream_failed' }
    expect(data).to.deep.equal({ ...about, refunded: 20 })
    await house.end()
  })

  it('of a mail that was given up is told to the operators, never with its recipient', async () => {
    const house = await aHouse(db)
    const { email, userId } = await anAccount(db)
    const mail = { id: '0190c5a0-0000-7000-8000-0000000000aa', kind: 'access', recipient: email, user_id: userId }
    await db('mails').insert(mail)
    await db('mails').where({ id: mail.id }).update({ status: 'dead', finished_at: db.fn.now() })
    const told = await house.told()
    expect(told.map(({ type }) => type)).to.deep.equal(['mail.dead'])
    expect(JSON.stringify(told)).not.to.include(email)
    await house.end()
  })

  it('of an upstream whose circuit opens is told once a minute, and once when it works again', async () => {
    const house = await aHouse(db)
    // Noted in one minute: what these statements read as now.
    await db.transaction(async (trx) => {
      for (let time = 0; time < 3; time += 1) await noteOpening(trx, 'acme')
    })
    expect(await house.told()).to.have.length(1)
    const hourAgo = new Date(Math.floor(Date.now() / 60_000 - 60) * 60_000)
    await db('circuit_openings').insert({ upstream: 'acme', minute: hourAgo, openings: 1 })
    await noteOpening(db, 'other')
    await Promise.all(Array.from({ length: 5 }, () => noteRecovery(db, 'acme')))
    await noteRecovery(db, 'nobody')
    const told = await house.told()
    // Ids of one millisecond have no order.
    expect(told.map(({ type, data: { upstream } }) => [type, upstream])).to.have.deep.members([
      ['upstream.unhealthy', 'acme'],
      ['upstream.unhealthy', 'acme'],
      ['upstream.unhealthy', 'other'],
      ['upstream.recovered', 'acme'],
    ])
    const recovered = told.find(({ type }) => type === 'upstream.recovered')!
    expect(recovered.data).to.deep.equal({ upstream: 'acme', since: hourAgo.toISOString() })
    await house.end()
  })

  it('of an upstream whose last opening no process speaks of is told when another finds that it works', async () => {
    const house = await aHouse(db)
    await noteOpening(db, 'left')
    await noteStillWorking(db, 'left')
    expect(await house.told(), 'a process may still try it').to.have.length(1)
    await db('circuit_openings')
      .where({ upstream: 'left' })
      .update({ minute: db.raw(`minute - interval '2 minutes'`) })
    for (let time = 0; time < 3; time += 1) await noteStillWorking(db, 'left')
    expect((await house.told()).map(({ type }) => type)).to.deep.equal(['upstream.unhealthy', 'upstream.recovered'])
    await house.end()
  })
})
