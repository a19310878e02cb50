import { expect } from 'chai'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { testMail } from '../../../src/shared/mail/templates-english.ts'
import { createMailer, describeFailure } from '../../../src/shared/mail/mailer.ts'
import type { Mailer } from '../../../src/shared/mail/mailer.ts'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'

const patience = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS)
const aMail = (to: string) => ({ ...testMail('https://gate.example', to), id: newId('mail'), to })
const failure = async (sending: Promise<unknown>) =>
  describeFailure(
    await sending.then(
      () => expect.fail('it was sent'),
      (error: unknown) => error,
    ),
  )

describe('the SMTP transport', () => {
  let mailbox: Mailbox
  let mailer: Mailer
  const config = { MAIL_FROM: 'The Gate <gate@gate.example>', MAIL_FILE: 'unused', MAIL_CONCURRENCY: 2 }
  before(async () => {
    mailbox = await startMailbox()
    mailer = createMailer({ ...config, SMTP_URL: mailbox.url })
  })
  after(async () => {
    mailer.close()
    await mailbox.stop()
  })

  it('delivers text and HTML, from MAIL_FROM, to one address', async () => {
    const mail = aMail('ada@example.com')
    await mailer.send(mail, patience())
    const { from, to, mail: read, raw } = await mailbox.first('ada@example.com')
    expect([from, to]).to.deep.equal(['gate@gate.example', ['ada@example.com']])
    expect(read.from).to.deep.include({ name: 'The Gate', address: 'gate@gate.example' })
    expect(read.to).to.have.length(1)
    expect([read.subject, read.text?.trim(), read.html?.trim()]).to.deep.equal([
      mail.subject,
      mail.text.trim(),
      mail.html.trim(),
    ])
    expect(raw).to.match(/^Auto-Submitted: auto-generated\r?$/m)
  })

  it("gives every attempt of a mail the same Message-ID, from the mail and the sender's domain", async () => {
    const mail = aMail('twice@example.com')
    const answers = [await mailer.send(mail, patience()), await mailer.send(mail, patience())]
    const id = `<${publicId('mail', mail.id)}@gate.example>`
    expect(answers).to.deep.equal([{ messageId: id }, { messageId: id }])
    expect((await mailbox.of('twice@example.com', 2)).map(({ messageId }) => messageId)).to.deep.equal([id, id])
  })

  it('sends nothing unless the recipient is one plain address', async () => {
    const before = mailbox.tries()
    for (const hostile of [
      'a@x.com\r\nBcc: evil@y.com',
      'a@x.com, evil@y.com',
      'Ada <evil@y.com>',
      '"evil@y.com"@x.com',
      'evil@y.com <a@x.com>',
      'a@x.com\r\nRCPT TO:<evil@y.com>',
      'a\uff20y.com',
      '',
    ]) {
      expect((await failure(mailer.send(aMail(hostile), patience()))).reason, JSON.stringify(hostile)).to.contain(
        'no plain address',
      )
    }
    expect(mailbox.tries()).to.equal(before)
  })

  it('uses an address unchanged in the envelope', async () => {
    const odd = `!#$%&'*+-/=?^_\`{|}~@example.com`
    await mailer.send(aMail(odd), patience())
    const { to, mail } = await mailbox.first(odd)
    expect(to).to.deep.equal([odd])
    expect([mail.to?.map(({ address }) => address), mail.cc ?? [], mail.bcc ?? []]).to.deep.equal([[odd], [], []])
  })

  it("reports the server's reason for a refusal, and whether it is permanent for this recipient", async () => {
    for (const [at, code, text, permanent] of [
      ['RCPT', 550, 'no such mailbox here', true],
      ['RCPT', 451, 'greylisted, come back', false],
      ['DATA', 554, 'message refused', false],
    ] as const) {
      mailbox.refuse({ at, code, text })
      const failed = await failure(mailer.send(aMail('ada@example.com'), patience()))
      expect(failed).to.deep.include({ permanent }).and.to.have.property('reason').that.contains(text)
    }
  })

  it('reports the address at which nobody listens, and never the password', async () => {
    const locked = await startMailbox({ user: 'gate', password: 'right' })
    const wrong = createMailer({ ...config, SMTP_URL: locked.url.replace('right', 'wr0ng-secret') })
    const { reason } = await failure(wrong.send(aMail('ada@example.com'), patience()))
    expect(reason).to.contain('535').and.not.to.contain('wr0ng-secret')
    wrong.close()
    const right = createMailer({ ...config, SMTP_URL: locked.url })
    await right.send(aMail('ada@example.com'), patience())
    right.close()
    await locked.stop()
    const nobody = createMailer({ ...config, SMTP_URL: 'smtp://127.0.0.1:9' })
    expect((await failure(nobody.send(aMail('ada@example.com'), patience()))).reason).to.contain('ECONNREFUSED')
    nobody.close()
  })

  it('gives up on a silent server when its signal aborts', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve)
    })
    const waiting = createMailer({ ...config, SMTP_URL: `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}` })
    expect((await failure(waiting.send(aMail('ada@example.com'), AbortSignal.timeout(100)))).permanent).to.equal(false)
    waiting.close()
    silent.close()
  })
})

describe('the file transport', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mail-'))
  after(() => rmSync(folder, { recursive: true }))
  const config = { SMTP_URL: undefined, MAIL_FROM: 'Tollgate <no-reply@localhost>', MAIL_CONCURRENCY: 2 }

  it('writes one complete JSON object a line, also when many write at once', async () => {
    const file = join(folder, 'deep', 'mail.jsonl')
    const mailers = [createMailer({ ...config, MAIL_FILE: file }), createMailer({ ...config, MAIL_FILE: file })]
    const mails = Array.from({ length: 40 }, (_, index) => aMail(`person-${index}@example.com`))
    await Promise.all(mails.map((mail, index) => mailers[index % 2]!.send(mail, patience())))
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(lines.map(({ to }) => to)).to.have.members(mails.map(({ to }) => to))
    for (const line of lines) {
      expect(Object.keys(line)).to.deep.equal(['date', 'from', 'to', 'subject', 'text', 'html'])
      expect(line.from).to.equal('Tollgate <no-reply@localhost>')
      expect(line.date).to.equal(new Date(line.date!).toISOString())
    }
  })

  it('makes the file readable only to its owner, since its links open accounts', async () => {
    const file = join(folder, 'private.jsonl')
    await createMailer({ ...config, MAIL_FILE: file }).send(aMail('ada@example.com'), patience())
    expect(statSync(file).mode & 0o777).to.equal(0o600)
  })

  it('says what is wrong with the file', async () => {
    const mailer = createMailer({ ...config, MAIL_FILE: folder })
    expect((await failure(mailer.send(aMail('ada@example.com'), patience()))).reason).to.contain('EISDIR')
  })
})
