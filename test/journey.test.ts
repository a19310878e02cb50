import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { expectBooksToBalance } from './support/books.ts'
import { anEmail } from './support/console.ts'
import type { Gateway } from '../scripts/harness/harness.ts'
import { startGateway } from '../scripts/harness/harness.ts'
import { get, post, send } from '../scripts/harness/http.ts'
import type { Mailbox } from '../scripts/harness/mailbox.ts'
import { startMailbox } from '../scripts/harness/mailbox.ts'
import { argumentsOf } from '../scripts/harness/installation.ts'

const run = promisify(execFile)

describe('the whole journey', () => {
  let mailbox: Mailbox
  let gateway: Gateway

  before(async () => {
    mailbox = await startMailbox()
    gateway = await startGateway({ SMTP_URL: mailbox.url, SIGNUP_CREDITS: '10' })
  })
  after(async () => {
    await gateway.stop()
    await mailbox.stop()
  })

  /** An admin command, as a process of its own. */
  const admin = async (...args: string[]): Promise<Record<string, unknown>> => {
    const environment = { ...process.env, DATABASE_URL: gateway.config.DATABASE_URL }
    const { stdout } = await run(process.execPath, [...argumentsOf('admin'), ...args, '--json'], {
      env: environment,
    })
    return JSON.parse(stdout) as Record<string, unknown>
  }

  it('leads from registration, mail, key and calls to the ledger, and back in after a lost password', async () => {
    const email = anEmail()
    const api = (path: string) => `${gateway.url}/api/${path}`
    const registered = await send('POST', api('auth/register'), { body: { email, password: 'first passw0rd' } })
    expect(registered.json.user).to.include({ email, credits: 0, emailVerified: false })
    const session = registered.json.token as string

    const { token: proof } = await mailbox.first(email)
    const verified = await send('POST', api('email/verify'), { body: { token: proof } })
    expect(verified.json.user).to.include({ credits: 10, emailVerified: true })

    const {
      json: { secret },
    } = await post(api('keys'), session, { name: 'laptop' })
    expect(await admin('credits', 'grant', email, '990', '--origin', 'purchase')).to.include({ credits: 1000 })

    const chat = await post(`${gateway.url}/v1/chat/completions`, secret, {
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: 'Hello [usage 1000 1000]' }],
    })
    expect(chat.json.usage).to.include({ credits: 4, balance: 996 })
    const image = await post(`${gateway.url}/v1/images/generations`, secret, {
      model: 'sandbox-image',
      prompt: 'a lighthouse',
    })
    expect(image.json.usage).to.include({ credits: 40, balance: 956 })
    const video = await post(`${gateway.url}/v1/videos/generations`, secret, {
      model: 'sandbox-video',
      prompt: 'waves',
    })
    expect(video.json.usage).to.include({ credits: 250, balance: 706 })

    const calls = await get(api('calls'), session)
    expect(
      calls.json.data.map((call: { model: string; status: string }) => `${call.model} ${call.status}`),
    ).to.deep.equal(['sandbox-video succeeded', 'sandbox-image succeeded', 'sandbox-chat succeeded'])
    const ledger = await get(api('ledger'), session)
    expect(ledger.json.data[0].balanceAfter).to.equal(706)
    expect(ledger.json.data.reduce((sum: number, entry: { amount: number }) => sum + entry.amount, 0)).to.equal(706)
    const usage = await get(api('usage'), session)
    expect(usage.json.data.reduce((sum: number, day: { credits: number }) => sum + day.credits, 0)).to.equal(294)

    await send('POST', api('email/forgot'), { body: { email } })
    // Behind the verification and what can use the account.
    const [, , { token: reset }] = (await mailbox.of(email, 3)) as [unknown, unknown, { token: string }]
    expect(
      (await send('POST', api('email/reset'), { body: { token: reset, password: 'second passw0rd' } })).status,
    ).to.equal(200)
    expect((await get(api('auth/me'), session)).status).to.equal(401)
    expect((await send('POST', api('auth/login'), { body: { email, password: 'first passw0rd' } })).status).to.equal(
      401,
    )
    const back = await send('POST', api('auth/login'), { body: { email, password: 'second passw0rd' } })
    expect(back.json.user).to.include({ email, credits: 706, emailVerified: true })
    await expectBooksToBalance(gateway.db)
  })
})
