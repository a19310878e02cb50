import { expect } from 'chai'
import { mailCommands } from '../../../src/admin/commands/mail.ts'
import type { Options, Report } from '../../../src/admin/command.ts'
import { CommandError } from '../../../src/admin/command.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { requestMail, claimMail, dueInMs, failTry, finishMail, deleteOldMails } from '../../../src/shared/mail/mails.ts'
import { enqueueDueMails } from '../../../src/workers/mail/processor.ts'
import { RETRY_PLAN } from '../../../src/workers/mail/retry-plan.ts'
import type { RetryPlan } from '../../../src/workers/mail/retry-plan.ts'
import { aPerson, anEmail, consoleConfig, startConsole, startMailWorker, testQueues } from '../../support/console.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { until } from '../../../scripts/harness/until.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'
import { startPrivateRedis } from '../../../scripts/harness/services.ts'

/** The plan's number of attempts, without its pauses. */
const HASTY: RetryPlan = { pauseMs: (tries, permanent) => (RETRY_PLAN.pauseMs(tries, permanent) === null ? null : 5) }

describe('the mail worker', () => {
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
  const sent = (email: string) =>
    until(`the mail to ${email} is noted as sent`, async () => (await rowOf(email)).status === 'sent')
  const during = async (work: () => Promise<void>, retries: RetryPlan = HASTY, config = web.config): Promise<void> => {
    const worker = startMailWorker(config, retries)
    try {
      await work()
    } finally {
      await worker.stop()
    }
  }
  const admin = (usage: string, args: string[] = [], options: Options = {}): Promise<Report> =>
    mailCommands.find((command) => command.usage.startsWith(usage))!.run(web.db, args, options)

  describe('delivers', () => {
    it('a mail once the server is back, with the same link and Message-ID in all attempts', async () => {
      const down = await startMailbox()
      const port = Number(new URL(down.url).port)
      await down.stop()
      const { email } = await aPerson(web)
      const { id } = await rowOf(email)
      const config = { ...web.config, SMTP_URL: down.url }
      let back: Mailbox | undefined
      await during(
        async () => {
          await until('three tries have failed', async () => (await rowOf(email)).tries >= 3)
          const { token_hash } = await web.db('one_time_tokens').where({ mail_id: id }).first()
          back = await startMailbox({ port })
          const mail = await back.first(email)
          await sent(email)
          expect(back.received).to.have.length(1)
          expect(mail.messageId).to.match(new RegExp(`^<mail_${id.replaceAll('-', '')}@`))
          expect((await web.db('one_time_tokens').where({ mail_id: id }).first()).token_hash).to.deep.equal(token_hash)
          expect((await web.post('/api/email/verify', { token: mail.token })).status).to.equal(200)
        },
        { pauseMs: () => 5 },
        config,
      )
      await back?.stop()
    })

    it('the same mail again if its success could not be recorded', async () => {
      const { email } = await aPerson(web)
      await during(async () => {
        await sent(email)
        const { id } = await rowOf(email)
        // Its row says so before its job has ended, and a job that still exists is not made again.
        await until('the end of its job', async () => (await queues.queues.queue('mail').getJobState(id)) === 'unknown')
        await web
          .db('mails')
          .where({ recipient: email })
          .update({ status: 'queued', finished_at: null, next_try_at: web.db.fn.now() })
        await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)
        await mailbox.of(email, 2)
      })
      const [one, two] = await mailbox.of(email, 2)
      expect([two!.messageId, two!.token]).to.deep.equal([one!.messageId, one!.token])
    })

    it('other mails while one is refused repeatedly', async () => {
      const { email: poisoned } = await aPerson(web)
      mailbox.refuse(...Array.from({ length: 3 }, () => ({ at: 'DATA' as const, code: 451, text: 'later' })))
      await during(
        async () => {
          await until('the first is refused', async () => (await rowOf(poisoned)).tries >= 1)
          const { email } = await aPerson(web)
          await mailbox.of(email)
          await mailbox.of(poisoned)
        },
        { pauseMs: () => 50 },
      )
    })

    it('mails that were requested while Redis was away, by the sweep', async () => {
      const redis = await startPrivateRedis()
      const cut = await startConsole(await consoleConfig({ REDIS_URL: redis.url }))
      await redis.stop()
      const { email } = await aPerson(cut)
      await cut.stop()
      expect(await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)).to.be.at.least(1)
      await during(async () => void (await mailbox.of(email)))
    })
  })

  describe('gives up', () => {
    /** A dead letter: a mail to a recipient that the server always refuses. */
    const aDeadLetter = async (): Promise<Person & { mail: string }> => {
      const person = await aPerson(web)
      mailbox.refuse(...Array.from({ length: 5 }, () => ({ at: 'RCPT' as const, code: 550, text: 'no such mailbox' })))
      await during(() =>
        until('the mail is dead', async () => (await rowOf(person.email)).status === 'dead').then(() => {}),
      )
      const { id } = await rowOf(person.email)
      return { ...person, mail: `mail_${id.replaceAll('-', '')}` }
    }

    it('with a dead letter that operators can list, and retry with its link', async () => {
      const { email, mail } = await aDeadLetter()
      const listed = (await admin('mail list')).json.mails as {
        id: string
        status: string
        recipient: string
        tries: number
      }[]
      expect(listed.find(({ id }) => id === mail)).to.include({ status: 'dead', recipient: email, tries: 5 })
      expect((await admin('mail list')).text).to.contain(mail)
      expect((await admin('mail retry', [mail])).json).to.deep.equal({ revived: 1 })
      expect(((await admin('mail list')).json.mails as { id: string }[]).map(({ id }) => id)).not.to.contain(mail)
      await during(async () => {
        await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)
        const { token } = await mailbox.first(email)
        await sent(email)
        expect((await web.post('/api/email/verify', { token })).status).to.equal(200)
        // The mail that follows a proof must not take a refusal that is meant for another.
        await mailbox.of(email, 2)
      })
      expect(
        ((await admin('mail list', [], { all: 'yes' })).json.mails as { id: string; status: string }[]).find(
          ({ id }) => id === mail,
        )!.status,
      ).to.equal('sent')
    })

    it('with a dead letter that cannot be retried twice', async () => {
      const { mail } = await aDeadLetter()
      await admin('mail retry', [mail])
      for (const id of [mail, 'mail_1', 'x', '', `mail_${newId('mail').replaceAll('-', '')}`]) {
        const refusal = await admin('mail retry', [id]).catch((error: unknown) => error)
        expect(refusal, id).to.be.instanceOf(CommandError)
      }
      await web
        .db('mails')
        .where({ id: parseId('mail', mail)! })
        .delete()
    })

    it('after growing pauses: at least 5 attempts, over about four hours if the server may come back', () => {
      const pauses = (permanent: boolean): number[] => {
        const all: number[] = []
        for (
          let pause = RETRY_PLAN.pauseMs(1, permanent);
          pause !== null;
          pause = RETRY_PLAN.pauseMs(all.length + 1, permanent)
        )
          all.push(pause)
        return all
      }
      expect(pauses(true)).to.deep.equal([1000, 3000, 9000, 27_000])
      const patient = pauses(false)
      expect(patient.slice(0, 7)).to.deep.equal([1000, 3000, 9000, 27_000, 81_000, 243_000, 300_000])
      expect(patient.reduce((sum, pause) => sum + pause, 0)).to.be.within(3.9 * 3_600_000, 4.1 * 3_600_000)
    })
  })

  describe('sends nothing', () => {
    it('for an address that was verified meanwhile', async () => {
      const { email } = await aPerson(web)
      await web.db('users').where({ email }).update({ email_verified_at: web.db.fn.now() })
      await during(() => until('it is skipped', async () => (await rowOf(email)).status === 'skipped').then(() => {}))
      expect(mailbox.received.filter(({ to }) => to.includes(email))).to.deep.equal([])
    })

    it('with a spent link, which a late attempt does not revive', async () => {
      const { email } = await aPerson(web)
      await during(async () => {
        const { token } = await mailbox.first(email)
        await sent(email)
        await web.post('/api/email/verify', { token })
        await web.db('users').where({ email }).update({ email_verified_at: null })
        await web
          .db('mails')
          .where({ recipient: email, kind: 'verification' })
          .update({ status: 'queued', finished_at: null, next_try_at: web.db.fn.now() })
        await enqueueDueMails({ db: web.db, queues: queues.queues }, 0)
        await until('it is skipped', async () => (await rowOf(email)).status === 'skipped')
        expect((await web.post('/api/email/verify', { token })).json.error).to.equal('invalid_token')
      })
      const links = mailbox.received.filter(({ to, mail }) => to.includes(email) && mail.text!.includes('/verify#'))
      expect(links).to.have.length(1)
    })

    it('for a reset that was requested before the password changed', async () => {
      const { email } = await aPerson(web)
      await web.post('/api/email/forgot', { email })
      await web
        .db('users')
        .where({ email })
        .update({ password_changed_at: web.db.raw('clock_timestamp()') })
      await during(() =>
        until(
          'it is skipped',
          async () => (await web.db('mails').where({ recipient: email, kind: 'reset' }).first()).status === 'skipped',
        ).then(() => {}),
      )
    })
  })

  describe('takes a mail', () => {
    const aMail = async (): Promise<MailId> => {
      const id = newId('mail')
      await requestMail(web.db, { id, kind: 'reset', recipient: anEmail(), userId: null })
      return id
    }
    const statusOf = async (id: MailId): Promise<string> => (await web.db('mails').where({ id }).first()).status

    it('for one worker of many', async () => {
      const id = await aMail()
      const begun = performance.now()
      const claims = await Promise.all(Array.from({ length: 20 }, () => claimMail(web.db, id, 60)))
      expect(claims.filter(Boolean)).to.have.length(1)
      const dueMs = (await dueInMs(web.db, id))!
      expect(dueMs).to.be.within(60_000 - (performance.now() - begun), 60_000)
    })

    it('again from a killed worker, when its lease has expired', async () => {
      const id = await aMail()
      await claimMail(web.db, id, 60)
      expect(await claimMail(web.db, id, 60)).to.equal(null)
      await web.db('mails').where({ id }).update({ next_try_at: web.db.fn.now() })
      expect(await claimMail(web.db, id, 60)).to.include({ tries: 2 })
    })

    it('from no newer worker: a late failure changes nothing, a late success counts', async () => {
      const id = await aMail()
      const first = await claimMail(web.db, id, 0)
      await claimMail(web.db, id, 60)
      await failTry(web.db, { id, tries: first!.tries, reason: 'late', pauseMs: null })
      expect(await statusOf(id)).to.equal('sending')
      await finishMail(web.db, id, 'sent')
      expect(await statusOf(id)).to.equal('sent')
      await failTry(web.db, { id, tries: 2, reason: 'later', pauseMs: 5 })
      expect(await statusOf(id)).to.equal('sent')
    })

    it('not at all when it is finished or unknown', async () => {
      const id = await aMail()
      await finishMail(web.db, id, 'skipped', 'no account')
      expect([await claimMail(web.db, id, 60), await dueInMs(web.db, id)]).to.deep.equal([null, null])
      expect([await claimMail(web.db, newId('mail'), 60), await dueInMs(web.db, newId('mail'))]).to.deep.equal([
        null,
        null,
      ])
    })

    it('out of the outbox when it is old: skipped after 2 days, sent after 30, dead after 90', async () => {
      const aged = async (status: string, days: number): Promise<MailId> => {
        const id = await aMail()
        const finished_at = web.db.raw('now() - make_interval(days => ?)', [days])
        await web.db('mails').where({ id }).update({ status, finished_at })
        return id
      }
      const gone = [await aged('skipped', 3), await aged('sent', 31), await aged('dead', 91)]
      const kept = [await aged('skipped', 1), await aged('sent', 29), await aged('dead', 89), await aMail()]
      await deleteOldMails(web.db)
      expect(await web.db('mails').whereIn('id', gone)).to.deep.equal([])
      expect(await web.db('mails').whereIn('id', kept)).to.have.length(4)
      await web.db('mails').whereIn('id', kept).delete()
    })
  })
})
