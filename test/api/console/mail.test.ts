import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { aPerson, consoleConfig, startConsole, useConsole } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'

describe('/api/mail', () => {
  describe('over SMTP', () => {
    let mailbox: Mailbox
    let web: TestConsole
    before(async () => {
      mailbox = await startMailbox()
      web = await startConsole(await consoleConfig({ SMTP_URL: mailbox.url }))
    })
    after(async () => {
      await web.stop()
      await mailbox.stop()
    })

    const test = (token: string, body?: unknown) => web.post('/api/mail/test', body, token)

    it('shows the transport and the base address', async () => {
      const { token } = await aPerson(web)
      expect((await web.get('/api/mail/status', token)).json).to.deep.equal({
        ok: true,
        transport: 'smtp',
        smtpConfigured: true,
        baseUrl: 'https://gate.example',
      })
    })

    it("sends a test mail to the account's own address, at once, with or without a body", async () => {
      const { token, email } = await aPerson(web)
      for (const body of [undefined, {}, { to: null }]) {
        const { status, json } = await test(token, body)
        expect([status, json.ok, json.transport, json.to]).to.deep.equal([200, true, 'smtp', email])
        expect(mailbox.received.at(-1)!.messageId).to.equal(json.messageId)
      }
    })

    it('sends a test mail to another address if the own one is verified, and never to two', async () => {
      const { token, email } = await aPerson(web)
      await web.db('users').where({ email }).update({ email_verified_at: web.db.fn.now() })
      const { json } = await test(token, { to: 'Other@Example.com' })
      expect(json.to).to.equal('other@example.com')
      expect(mailbox.received.at(-1)!.to).to.deep.equal(['other@example.com'])
      const before = mailbox.tries()
      for (const to of ['', 'x', 5, 'a@x.com, b@x.com', 'a@x.com\r\nBcc: b@x.com', 'Ada <a@x.com>', ['a@x.com']]) {
        const reply = await test(token, { to })
        expect([reply.status, reply.json.error], JSON.stringify(to)).to.deep.equal([400, 'invalid_email'])
      }
      expect(mailbox.tries()).to.equal(before)
    })

    it('refuses every other address to an unverified account, and does not count that', async () => {
      const { token, email } = await aPerson(web)
      const before = mailbox.tries()
      for (const to of [
        'other@example.com',
        email.replace('@', '+x@'),
        `x${email}`,
        'a@b.example',
        'c@d.example',
        'e@f.example',
      ]) {
        const reply = await test(token, { to })
        expect([reply.status, reply.json.ok, reply.json.error], to).to.deep.equal([403, false, 'email_unverified'])
      }
      expect(mailbox.tries()).to.equal(before)
      expect((await test(token, { to: email.toUpperCase() })).json.to).to.equal(email)
    })

    it("answers mail_failed with the server's own reason", async () => {
      const { token } = await aPerson(web)
      mailbox.refuse({ at: 'RCPT', code: 550, text: 'relaying is not for you' })
      const { status, json } = await test(token)
      expect([status, json.ok, json.error]).to.deep.equal([400, false, 'mail_failed'])
      expect(json.message).to.contain('relaying is not for you')
    })

    it('sends 5 test mails in 10 minutes for an account, and refuses the 6th', async () => {
      const { token } = await aPerson(web)
      const begun = performance.now()
      for (let count = 1; count <= 5; count += 1) expect((await test(token)).status).to.equal(200)
      const { status, json, headers } = await test(token)
      expect([status, json.error]).to.deep.equal([429, 'rate_limited'])
      expect(Number(headers.get('retry-after'))).to.be.within(600 - (performance.now() - begun) / 1000, 600)
      expect((await test((await aPerson(web)).token)).status).to.equal(200)
    })
  })

  describe('without SMTP', () => {
    const web = useConsole()

    it('shows that mail goes to a file, and writes the test mail there', async () => {
      const { token, email } = await aPerson(web)
      expect((await web.get('/api/mail/status', token)).json).to.include({ transport: 'file', smtpConfigured: false })
      const { json } = await web.post('/api/mail/test', undefined, token)
      expect(json).to.include({ ok: true, transport: 'file', to: email })
      const lines = readFileSync(web.config.MAIL_FILE, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { to: string; text: string })
      expect(lines.at(-1)).to.include({ to: email }).and.to.have.property('text').that.contains('https://gate.example')
    })
  })
})
