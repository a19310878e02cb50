import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import type { Middleware } from 'koa'
import type { Browser } from 'playwright-core'
import { createLimits } from '../../../src/api/endpoint/rate-limits.ts'
import { createDashboard } from '../../../src/api/ops/dashboard.ts'
import { connectPersistent, connectProducer } from '../../../src/shared/platform/redis/redis.ts'
import { QUEUE_NAMES } from '../../../src/shared/terms/kinds.ts'
import { createQueues } from '../../../src/shared/queues.ts'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
import { startTestWeb, testConfig } from '../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useFor } from '../../support/gateway.ts'

const PASSWORD = 'correct: horse bättery'
const PROMPT = 'a secret lighthouse that nobody may read of'

const basic = (password = PASSWORD, user = 'admin') => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})

/** A web process with one chat waiting, and no worker to take it. */
async function startWithAJob(settings: Record<string, string>) {
  const config = await testConfig('http://127.0.0.1:9', { DASHBOARD_PASSWORD: PASSWORD, TRUST_PROXY: '1', ...settings })
  const web = await startTestWeb(config)
  const redis = connectPersistent(config)
  const queues = createQueues(redis, config.REDIS_PREFIX)
  const callId = newId('call')
  await queues.queue('chat').obliterate({ force: true })
  await queues.enqueueCall(
    'chat',
    {
      callId,
      accountId: newId('account'),
      request: { messages: [{ role: 'user', content: PROMPT }], max_tokens: 10 },
      catalogueVersion: 1,
      requestId: 'req-1',
      deadlineAt: Date.now() + 60_000,
    },
    1,
  )
  const stop = async () => {
    await queues.queue('chat').obliterate({ force: true })
    await queues.close()
    redis.disconnect()
    await web.stop()
  }
  return { web, queues, redis, callId, stop }
}

const useJob = (settings: Record<string, string> = {}) =>
  useFor(
    () => startWithAJob(settings),
    ({ stop }) => stop(),
  )

const board = (web: TestWeb) => `${web.url}/admin/queues`

describe('the dashboard of the queues', () => {
  const started = useJob()
  let client = 0
  /** Each test uses a client network of its own, so that its failures do not count for others. */
  const fromElsewhere = () => ({ 'x-forwarded-for': `198.51.100.${++client}` })

  const visit = (path = '', headers: Record<string, string> = basic(), from: object = fromElsewhere()) =>
    send('GET', `${board(started.web)}${path}`, { headers: { ...headers, ...from } })

  it('does not exist without a password', async () => {
    const web = await startTestWeb()
    for (const path of ['', '/', '/api/queues', '/static/favicon.ico']) {
      expect((await send('GET', `${board(web)}${path}`, { headers: basic('') })).status, path).to.equal(404)
    }
    await web.stop()
  })

  it('asks for a password before it shows anything', async () => {
    for (const path of ['', '/', '/queue/chat', '/api/queues', '/api/redis/stats', '/static/favicon.ico', '/nothing']) {
      const reply = await visit(path, {})
      expect(reply.status, path).to.equal(401)
      expect(reply.headers.get('www-authenticate'), path).to.equal('Basic realm="Tollgate queues", charset="UTF-8"')
    }
  })

  it('accepts only the user admin with the password', async () => {
    const wrong = [
      basic('wrong'),
      basic(PASSWORD, 'root'),
      basic(PASSWORD, ''),
      basic(''),
      { authorization: 'Basic !' },
      { authorization: `Bearer ${PASSWORD}` },
    ]
    for (const headers of wrong) expect((await visit('', headers)).status).to.equal(401)
    expect((await visit()).status).to.equal(200)
  })

  it('locks a client out after ten wrong passwords, even with the password, and nobody else', async () => {
    const guesser = fromElsewhere()
    for (let times = 0; times < 15; times++) await visit('', {}, guesser)
    for (let guess = 0; guess < 10; guess++) expect((await visit('', basic('wrong'), guesser)).status).to.equal(401)
    for (const password of ['wrong', PASSWORD]) {
      const reply = await visit('', basic(password), guesser)
      expect(reply.status).to.equal(429)
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 600)
    }
    expect((await visit()).status).to.equal(200)
  })

  it('shows which jobs wait, and never a prompt', async () => {
    for (const path of [
      '/api/queues?activeQueue=chat&page=1&jobsPerPage=10',
      `/api/queues/chat/${started.callId}`,
      `/api/queues/chat/${started.callId}/logs`,
      `/api/queues/chat/${started.callId}/flow`,
      '/api/job-schedulers',
    ]) {
      const reply = await visit(path)
      expect(reply.status, `${path} ${reply.text}`).to.be.oneOf([200, 404])
      expect(reply.text, path).not.to.contain('lighthouse')
      expect(reply.headers.get('cache-control'), path).to.equal('no-store')
    }
    const { json } = await visit(`/api/queues/chat/${started.callId}`)
    expect(json.job.data).to.have.all.keys('callId', 'modality', 'requestId', 'deadline')
    expect(json.job.data).to.include({ callId: publicId('call', started.callId), modality: 'chat', requestId: 'req-1' })
    expect(json.job).to.include({ id: started.callId, name: 'chat' })
  })

  it('does not show the text of an error, which may quote a request', async () => {
    const queue = started.queues.queue('image')
    const job = await queue.add('image', {
      callId: newId('call'),
      request: { prompt: PROMPT },
      requestId: 'req-2',
      deadlineAt: 1,
    })
    await started.redis.hset(queue.toKey(job.id!), { failedReason: PROMPT, stacktrace: JSON.stringify([PROMPT]) })
    for (const path of [`/api/queues/image/${job.id}`, '/api/queues?activeQueue=image&page=1&jobsPerPage=10']) {
      const { text } = await visit(path)
      expect(text, path).not.to.contain('lighthouse')
      expect(text, path).to.contain('See the log of the worker.')
    }
    await queue.obliterate({ force: true })
  })

  it('changes nothing', async () => {
    for (const path of [
      '/api/queues/pause',
      '/api/queues/chat/obliterate',
      `/api/queues/chat/${started.callId}/clean`,
    ]) {
      const reply = await send('PUT', `${board(started.web)}${path}`, {
        headers: { ...basic(), ...fromElsewhere() },
        body: {},
      })
      expect(reply.status, path).to.equal(405)
      expect(reply.headers.get('allow'), path).to.equal('GET, HEAD')
    }
    expect(await started.queues.queue('chat').isPaused()).to.equal(false)
    expect(await started.queues.hasJob('chat', started.callId)).to.equal(true)
  })

  it('has a policy of its own, and loads nothing from another host', async () => {
    const reply = await visit()
    expect(reply.headers.get('content-security-policy')).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
        "font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(reply.text).not.to.match(/https?:\/\//)
  })

  describe('in a browser', () => {
    let browser: Browser
    before(async function () {
      browser = await openBrowser(this)
    })
    after(closeBrowser)

    it('works under its policy, and loads nothing from elsewhere', async () => {
      const { page, faults, close } = await openPage(browser, started.web.url, {
        httpCredentials: { username: 'admin', password: PASSWORD },
        viewport: { width: 1280, height: 800 },
      })
      await page.goto(board(started.web))
      for (const queue of ['chat', 'image', 'video', 'mail', 'maintenance'])
        await page.getByText(queue, { exact: true }).first().waitFor()
      await page.goto(`${board(started.web)}/queue/chat`)
      await page.getByText(started.callId).first().waitFor()
      expect(await page.content()).not.to.contain('lighthouse')
      expect(faults).to.deep.equal([])
      await close()
    })
  })
})

describe('the dashboard of the queues, where the connection was lost while it was loaded', () => {
  it('is loaded by the next request', async () => {
    const config = await testConfig('http://127.0.0.1:9')
    const redis = connectProducer(config)
    const queues = createQueues(redis, config.REDIS_PREFIX)
    const failures: unknown[] = []
    const cutting: typeof queues.queue = (name) => {
      const queue = queues.queue(name)
      if (redis.status === 'ready' && failures.length === 0) redis.stream.destroy()
      queue.waitUntilReady().catch((error: unknown) => failures.push(error))
      return queue
    }
    const deps = { config, queues: { ...queues, queue: cutting }, limits: createLimits(redis, config) }
    const app = new Koa().on('error', () => {})
    await until('the connection', () => redis.status === 'ready')
    const handlers = createDashboard(deps as unknown as Parameters<typeof createDashboard>[0], PASSWORD)
    for (const one of handlers) app.use(one as Middleware)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const visit = () => send('GET', `http://127.0.0.1:${port}/admin/queues/api/queues`, { headers: basic() })
    try {
      await until('the load to have failed', () => failures.length > 0)
      await until('the connection to be back', () => redis.status === 'ready')
      const { status, json } = await visit()
      expect([status, (json.queues as unknown[]).length]).to.deep.equal([200, QUEUE_NAMES.length])
    } finally {
      server.close()
      await queues.close()
      redis.disconnect()
    }
  })
})

describe('the dashboard of the queues with DASHBOARD_WRITE=on', () => {
  const started = useJob({ DASHBOARD_WRITE: 'on' })

  it('pauses and resumes a queue', async () => {
    for (const [verb, paused] of [
      ['pause', true],
      ['resume', false],
    ] as const) {
      const reply = await send('PUT', `${board(started.web)}/api/queues/chat/${verb}`, { headers: basic(), body: {} })
      expect(reply.status, reply.text).to.equal(200)
      expect(await started.queues.queue('chat').isPaused()).to.equal(paused)
    }
  })

  it('refuses requests from pages of other sites, to which a browser would add the password', async () => {
    for (const headers of [
      { origin: 'https://elsewhere.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[]) {
      const reply = await send('PUT', `${board(started.web)}/api/queues/chat/pause`, {
        headers: { ...basic(), ...headers },
        body: {},
      })
      expect(reply.status, JSON.stringify(headers)).to.equal(403)
    }
    expect(await started.queues.queue('chat').isPaused()).to.equal(false)
  })

  it('neither makes jobs nor edits their data, and shows only a part of these', async () => {
    for (const [method, path, body] of [
      ['POST', 'add', { name: 'chat', data: {}, options: {} }],
      ['PATCH', `${started.callId}/update-data`, { jobData: {} }],
    ] as const)
      expect(
        (await send(method, `${board(started.web)}/api/queues/chat/${path}`, { headers: basic(), body })).status,
      ).to.equal(403)
  })
})
