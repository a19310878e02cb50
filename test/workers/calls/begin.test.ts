import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { FAILPOINT_CHANNEL } from '../../../src/shared/platform/process/failpoints.ts'
import type { Failpoint } from '../../../src/shared/platform/process/failpoints.ts'
import { chat, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import { letLapse, verbs } from '../../shared/calls/opening.ts'
import { useGateway } from '../../support/gateway.ts'
import { testQueues } from '../../support/console.ts'

describe('the begin of a call', () => {
  const gateway = useGateway()

  it('is written before the upstream is asked, for a stream and for a whole answer', async () => {
    const steps: string[] = []
    const note = (message: unknown): void => void steps.push((message as Failpoint).name)
    subscribe(FAILPOINT_CHANNEL, note)
    try {
      for (const stream of [true, false]) {
        const account = await anAccount(gateway.db, 1000)
        const reply = await chat(gateway, account, prompted(), { stream })
        expect(reply.status, reply.text).to.equal(200)
        const order = ['call.begun', 'upstream.sending', 'call.settling']
        expect(steps.splice(0).filter((step) => order.includes(step))).to.deep.equal(order)
      }
    } finally {
      unsubscribe(FAILPOINT_CHANNEL, note)
    }
  })

  it('keeps every other run away until its lease has passed; the next run then takes the call over', async () => {
    const { db, sandbox } = gateway
    const account = await anAccount(db, 1000)
    await gateway.stopWorker()
    const prompt = prompted()
    const asked = chat(gateway, account, prompt)
    const { queues, stop } = testQueues(gateway.config)
    const queue = queues.queue('chat')
    const [job] = await until('the job', async () => {
      const jobs = await queue.getPrioritized()
      return jobs.length > 0 && jobs
    })
    const id = job!.id as CallId
    // The run of another worker.
    expect(await verbs(db).begin(id)).to.include({ attempt: 1 })
    await gateway.startWorker()
    await until('the job to wait for the lease', () => queue.getJobState(id).then((state) => state === 'delayed'))
    expect(sandbox.journal(prompt)).to.deep.equal([])
    expect(await db('calls').where({ id }).first('status', 'attempts')).to.include({ status: 'running', attempts: 1 })
    await letLapse(db, id)
    await job!.promote()
    const reply = await asked
    expect(await recordOf(db, reply)).to.include({ status: 'succeeded', attempts: 2 })
    expect(sandbox.journal(prompt)).to.have.length(1)
    await stop()
  })
})
