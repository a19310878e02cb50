import { expect } from 'chai'
import { createLog } from '../../../src/shared/infra/log.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { aPerson, consoleConfig, startConsole, testQueues } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'

describe('the worker process and mail', () => {
  let mailbox: Mailbox
  let web: TestConsole
  let worker: Awaited<ReturnType<typeof startWorker>>
  let queues: ReturnType<typeof testQueues>
  before(async () => {
    mailbox = await startMailbox()
    const config = await consoleConfig({ SMTP_URL: mailbox.url, WORKER_QUEUES: 'mail,maintenance' })
    web = await startConsole(config)
    await web.db('mails').delete()
    worker = await startWorker(config, createLog('silent', 'worker'), 500)
    queues = testQueues(config)
  })
  after(async () => {
    await web.stop()
    await worker.stop()
    await queues.stop()
    await mailbox.stop()
  })

  it('delivers the mail of a registration', async () => {
    const { email } = await aPerson(web)
    expect((await mailbox.first(email)).mail.subject).to.contain('Confirm')
  })

  it('delivers by the reconciler what Redis never got', async () => {
    await worker.stop()
    const { email } = await aPerson(web)
    await queues.redis.flushdb()
    worker = await startWorker(web.config, createLog('silent', 'worker'), 500)
    expect((await mailbox.first(email)).mail.subject).to.contain('Confirm')
  })
})
