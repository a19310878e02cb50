import { expect } from 'chai'
import { connectTestDb } from '../scripts/harness/database.ts'
import { startWeb } from '../src/api/web.ts'
import { startWorker } from '../src/workers/worker.ts'
import { createSandbox } from '../sandbox/server.ts'
import type { Sandbox } from '../sandbox/server.ts'
import type { WorkerConfig } from '../src/workers/deps.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { anAccount } from '../scripts/harness/factories.ts'
import { testConfig } from '../scripts/harness/harness.ts'
import { post, send } from '../scripts/harness/http.ts'
import { readableLog } from './support/log-lines.ts'
import { startMailbox } from '../scripts/harness/mailbox.ts'
import type { Mailbox } from '../scripts/harness/mailbox.ts'

describe('the logs of web and worker', () => {
  const { log, lines } = readableLog()
  let mailbox: Mailbox
  let sandbox: Sandbox
  let config: WorkerConfig
  let db: Db
  let stopProcesses: () => Promise<void>
  let url: string

  before(async () => {
    mailbox = await startMailbox({ user: 'mailer', password: 'canary-smtp' })
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.05 })
    config = await testConfig(sandbox.url, { SMTP_URL: mailbox.url, SANDBOX_API_KEY: 'sk-canary-upstream' })
    const web = await startWeb(config, log, 500)
    const worker = await startWorker(config, log, 500)
    db = connectTestDb({ ...config, DATABASE_POOL: 2 })
    url = `http://127.0.0.1:${web.port}`
    stopProcesses = async () => {
      await web.stop()
      await worker.stop()
    }
  })
  after(async () => {
    await db.destroy()
    await sandbox.close()
    await mailbox.stop()
  })

  it('have no secret and no prompt in any line, wherever a client puts them', async () => {
    const { key } = await anAccount(db, 10_000)
    const {
      json: { token },
    } = await send('POST', `${url}/api/auth/register`, {
      body: { email: 'canary-mail@example.com', password: 'canary-passw0rd' },
    })
    const mailed = (await mailbox.first('canary-mail@example.com')).token
    for (const prompt of [
      'canary-prompt',
      'canary-prompt [status 500]',
      'canary-prompt [garbage]',
      'canary-prompt [reset]',
    ]) {
      await post(`${url}/v1/images/generations?key=canary-query`, key, {
        model: 'sandbox-image',
        prompt,
        canary: 'canary-field',
      })
      await post(`${url}/v1/chat/completions`, key, {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: prompt }],
      })
    }
    await post(
      `${url}/v1/chat/completions`,
      'canary-wrong-key',
      { model: 'canary-model' },
      { 'x-canary': 'canary-header', cookie: 'canary-cookie' },
    )
    const contents = [{ parts: [{ text: 'canary-prompt' }] }]
    for (const path of ['models/sandbox-chat:generateContent', 'models/canary:generateContent', 'models/canary'])
      for (const query of [`?key=${key}`, '?key=canary-key', `?key=${key}&key=canary-key`])
        await send('POST', `${url}/v1/${path}${query}`, { body: { contents } })
    await send('POST', `${url}/api/email/reset`, { body: { token: 'canary-token', password: 'canary-passw0rd2' } })
    await stopProcesses()

    expect(lines.length).to.be.greaterThan(10)
    const all = lines.map((line) => JSON.stringify(line)).join('\n')
    for (const secret of ['canary', key, token as string, mailed!, config.APP_SECRET])
      expect(all, secret).not.to.contain(secret)
  })
})
