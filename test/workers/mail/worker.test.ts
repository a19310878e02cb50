import { expect } from 'chai'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { aPerson, consoleConfig, startConsole, testQueues } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { spent, verbs } from '../../shared/calls/opening.ts'
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

  it('delivers that 80 and 100 percent of a budget are used, once each, to the owner of its key', async () => {
    const { db } = web
    const account = await anAccount(db, 1000)
    await db('users').where({ id: account.userId }).update({ email_verified_at: db.fn.now() })
    await changeKey(db, account.keyId, { name: 'the agent', budget: { credits: 50, period: 'month' } })
    for (const credits of [40, 5, 5]) await spent(verbs(db), account, credits)
    const mails = await mailbox.of(account.email, 2)
    for (const subject of [/^80% of/, /^The budget of .* is spent$/])
      expect(mails.filter(({ mail }) => subject.test(mail.subject!))).to.have.lengthOf(1)
    for (const { mail } of mails) {
      expect(mail.text).to.include('the agent').and.to.match(/ 50\b/)
      expect(mail.text, 'when it begins anew').to.match(/\d{4}/)
    }
    expect(await db('mails').where({ recipient: account.email, kind: 'budget' })).to.have.lengthOf(2)
    await expectBooksToBalance(db)
  })

  it('delivers by the reconciler what Redis never got', async () => {
    await worker.stop()
    const { email } = await aPerson(web)
    await queues.redis.flushdb()
    worker = await startWorker(web.config, createLog('silent', 'worker'), 500)
    expect((await mailbox.first(email)).mail.subject).to.contain('Confirm')
  })
})
