import { expect } from 'chai'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'
import { until } from '../../../scripts/harness/until.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { MailKind } from '../../../src/shared/mail/mails.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import { enqueueDueMails } from '../../../src/workers/mail/processor.ts'
import type { RetryPlan } from '../../../src/workers/mail/retry-plan.ts'
import { aPerson, consoleConfig, startConsole, startMailWorker, testQueues } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'

const HASTY: RetryPlan = { pauseMs: () => 5 }

describe('a mail beyond the limit of its mailbox', () => {
  let mailbox: Mailbox
  let web: TestConsole
  let queues: ReturnType<typeof testQueues>
  before(async () => {
    mailbox = await startMailbox()
    web = await startConsole(await consoleConfig({ SMTP_URL: mailbox.url }))
    queues = testQueues(web.config)
    // Mails of other tests must not be delivered here.
    await web.db('mails').delete()
  })
  after(async () => {
    await web.stop()
    await queues.stop()
    await mailbox.stop()
  })

  const rowOf = (email: string) =>
    web.db('mails').where({ recipient: email }).whereNot({ kind: 'access' }).orderBy('created_at', 'desc').first()
  const during = async (work: () => Promise<void>, retries: RetryPlan): Promise<void> => {
    const worker = startMailWorker(web.config, retries)
    try {
      await work()
    } finally {
      await worker.stop()
    }
  }
  const kinds = async (email: string, kind: string) => web.db('mails').where({ recipient: email, kind }).orderBy('id')

  it('is not sent, and a receipt later, whatever other kinds the mailbox was sent', async () => {
    const { email } = await aPerson(web)
    const { user_id: userId } = await rowOf(email)
    const ask = async (kind: MailKind, details: object): Promise<void> => {
      for (let count = 0; count < 7; count += 1)
        await requestMail(web.db, { id: newId('mail'), kind, recipient: email, userId, details: { ...details } })
    }
    await ask('low_balance', { credits: 1, threshold: 2 })
    await ask('address_notice', { address: 'x@example.com', step: 'asked' })
    await ask('address_notice', { address: 'x@example.com', step: 'changed' })
    await ask('receipt', { credits: 1, amountMinor: 100, currency: 'eur', receiptUrl: null, kind: 'checkout' })
    await during(async () => {
      await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)
      await until('none is due', async () => {
        const due = web.db('mails').where({ recipient: email }).whereIn('status', ['queued', 'sending'])
        return !(await due.where('next_try_at', '<', web.db.raw(`now() + interval '2 minutes'`)).first('id'))
      })
    }, HASTY)
    const outcomes = async (kind: string) => (await kinds(email, kind)).map(({ status }) => status as string).toSorted()
    const of = (sent: number, other: string, count: number) => [
      ...Array<string>(count).fill(other),
      ...Array<string>(sent).fill('sent'),
    ]
    expect(await outcomes('low_balance')).to.deep.equal(of(5, 'skipped', 2).toSorted())
    expect(await outcomes('address_notice'), 'asked and changed are counted apart').to.deep.equal(
      of(10, 'skipped', 4).toSorted(),
    )
    expect(await outcomes('receipt')).to.deep.equal(of(5, 'queued', 2).toSorted())
    // In an hour its turn comes.
    await web.db('mailbox_mails').update({ counted_at: web.db.raw(`counted_at - interval '61 minutes'`) })
    await web.db('mails').where({ recipient: email, kind: 'receipt', status: 'queued' }).update({
      next_try_at: web.db.fn.now(),
    })
    await queues.redis.flushdb()
    await during(async () => {
      await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)
      await until('the receipts are sent', async () => (await outcomes('receipt')).every((one) => one === 'sent'))
    }, HASTY)
  })

  it('is tried again if it was let through before', async () => {
    const { email } = await aPerson(web)
    const { id } = await rowOf(email)
    mailbox.refuse({ at: 'DATA', code: 451, text: 'later' })
    await during(
      async () => {
        await until('the first try has failed', async () => (await rowOf(email)).note !== null)
        const { mailbox: hash } = await web.db('mailbox_mails').where({ mail_id: id }).first()
        await web
          .db('mailbox_mails')
          .insert(Array.from({ length: 5 }, () => ({ mail_id: newId('mail'), mailbox: hash, kind: 'verification' })))
        await until('it is sent', async () => (await rowOf(email)).status === 'sent')
      },
      { pauseMs: () => 500 },
    )
  })
})
