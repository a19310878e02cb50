import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { freePort } from '../../../scripts/services/ports.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import type { Family } from '../../support/exposition.ts'
import { readExposition, valueOf } from '../../support/exposition.ts'
import { askedOf } from '../../support/caller.ts'
import type { Caller } from '../../support/caller.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway, startTestWeb, testConfig } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { eventually, until } from '../../../scripts/harness/until.ts'

const TOKEN = 'a token: with ünusual characters & "quotes"'
const headers = { authorization: `Bearer ${Buffer.from(TOKEN).toString('latin1')}` }

/** A model whose id needs every escape of a label's value. */
const ODD_MODEL = 'odd "chat"\\model\nof two lines'

describe('the metrics', () => {
  let gateway: Gateway
  let workerUrl: string
  /** When the worker was started, in Unix seconds. */
  let startedAt: number
  let account: Caller

  const scrape = async (url: string): Promise<Map<string, Family>> => {
    const reply = await send('GET', `${url}/metrics`, { headers: { authorization: 'Bearer plain-token' } })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8')
    return readExposition(reply.text)
  }
  const ofWeb = () => scrape(gateway.url)
  const ofWorker = () => scrape(workerUrl)

  before(async () => {
    const port = await freePort()
    workerUrl = `http://127.0.0.1:${port}`
    startedAt = Math.floor(Date.now() / 1000)
    gateway = await startGateway(
      { DATABASE_URL: await newDatabaseUrl(), METRICS_TOKEN: 'plain-token', HEALTH_PORT: String(port) },
      ({ models }) =>
        models.push({
          id: ODD_MODEL,
          modality: 'chat',
          pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 },
          upstreams: [{ upstream: 'sandbox', model: 'gpt-sandbox' }],
        }),
    )
    account = await askedOf(gateway).account(1_000_000)
  })
  after(() => gateway.stop())

  it('count calls by model, status and upstream, and their credits', async () => {
    await account.chat(`[usage 1500 500]${' and'.repeat(400)}`)
    for (const prompt of ['a lighthouse', '[status 400]']) await account.image(prompt)
    // A call is counted after its answer is sent.
    await eventually(async () => {
      const [web, worker] = [await ofWeb(), await ofWorker()]
      const [chats, images] = [{ model: 'sandbox-chat' }, { model: 'sandbox-image' }]
      const done = { status: 'succeeded', upstream: 'sandbox' }
      for (const [families, name, labels, value] of [
        [web, 'calls_opened', { ...images, modality: 'image' }, 2],
        [web, 'credits_charged', images, 80],
        [worker, 'calls_ended', { ...chats, ...done }, 1],
        [worker, 'calls_ended', { ...images, ...done }, 1],
        [worker, 'calls_ended', { ...images, status: 'failed' }, 1],
        [worker, 'credits_settled', chats, 3],
        [worker, 'credits_settled', images, 40],
        [worker, 'credits_refunded', images, 40],
        [worker, 'upstream_tries', { upstream: 'sandbox', outcome: 'rejected' }, 1],
      ] as const)
        expect(valueOf(families, `tollgate_${name}_total`, labels), name).to.equal(value)
    })
  })

  it('time every stage of a call', async () => {
    expect((await account.chat('[delay 120]')).status).to.equal(200)
    // A call is counted after its answer is sent.
    await eventually(async () => {
      const [web, worker] = [await ofWeb(), await ofWorker()]
      const count = (from: Map<string, Family>, stage: string) =>
        valueOf(from, 'tollgate_call_stage_seconds_count', { stage })
      expect(count(web, 'charge')).to.be.greaterThan(0)
      for (const stage of ['queue', 'upstream', 'settle', 'reply'])
        expect(count(worker, stage), stage).to.be.greaterThan(0)
      const found = valueOf(worker, 'tollgate_call_stage_seconds_sum', { stage: 'upstream', modality: 'chat' })
      expect(found).to.be.greaterThan(0.12)
      for (const verb of ['open', 'end'])
        expect(valueOf(verb === 'open' ? web : worker, 'tollgate_batch_size_count', { verb })).to.be.greaterThan(0)
    })
  })

  it('count requests by the pattern of their route, never by their path', async () => {
    await get(`${gateway.url}/v1/calls/call_0000000000000000000000000000abcd`, account.key)
    await get(`${gateway.url}/no/such/path`)
    await get(`${gateway.url}/api/calls/call_1`)
    await eventually(async () => {
      const web = await ofWeb()
      for (const [route, status] of [
        ['/api/calls/:id', '401'],
        ['/v1/calls/:id', '404'],
        ['(none)', '404'],
      ] as const)
        expect(valueOf(web, 'tollgate_http_requests_total', { method: 'GET', route, status }), route).to.equal(1)
      expect(valueOf(web, 'tollgate_http_request_seconds_count', { route: '/metrics' })).to.be.greaterThan(0)
    })
  })

  it('have no label that a client can choose', async () => {
    const before = (await ofWeb()).size
    for (const model of ['made-up-1', 'made-up-2']) {
      expect((await account.chat('Hi', { model })).status).to.equal(400)
    }
    await send('GET', `${gateway.url}/made-up-3?made-up-4=1`, { headers: { 'user-agent': 'made-up-5' } })
    const { text } = await send('GET', `${gateway.url}/metrics`, { headers: { authorization: 'Bearer plain-token' } })
    expect(text).not.to.contain('made-up')
    expect(readExposition(text).size).to.equal(before)
    expect(
      valueOf(readExposition(text), 'tollgate_calls_refused_total', { modality: 'chat', error: 'unsupported_model' }),
    ).to.equal(2)
  })

  it('are valid whatever a model of the catalogue is called', async () => {
    await account.chat('Hi', { model: ODD_MODEL })
    await eventually(async () => {
      expect(valueOf(await ofWeb(), 'tollgate_calls_opened_total', { model: ODD_MODEL })).to.equal(1)
      const ended = valueOf(await ofWorker(), 'tollgate_calls_ended_total', { model: ODD_MODEL, status: 'succeeded' })
      expect(ended).to.equal(1)
    })
  })

  it('show how long the oldest call has waited for a worker', async () => {
    await gateway.stopWorker()
    const sent = Date.now()
    expect((await account.chat('Hi', {}, { prefer: 'respond-async' })).status).to.equal(202)
    const age = await until('a second has passed', async () => {
      const families = await ofWeb()
      if (valueOf(families, 'tollgate_queue_jobs', { queue: 'chat', state: 'waiting' }) !== 1) return false
      const seconds = valueOf(families, 'tollgate_queue_oldest_seconds', { queue: 'chat' })!
      return seconds > 1 && seconds
    })
    expect(age).to.be.at.most((Date.now() - sent) / 1000 + 0.5)
    expect(valueOf(await ofWeb(), 'tollgate_queue_oldest_seconds', { queue: 'video' })).to.equal(0)
    await gateway.startWorker()
    await until(
      'the call was taken',
      async () => valueOf(await ofWeb(), 'tollgate_queue_oldest_seconds', { queue: 'chat' }) === 0,
    )
  })

  it('show the pool, the upstreams, the event loop and the last audit', async () => {
    await account.chat('Hi')
    await eventually(async () => {
      const idle = await ofWorker()
      expect(valueOf(idle, 'tollgate_upstream_circuit', { upstream: 'sandbox', state: 'closed' })).to.equal(1)
      expect(valueOf(idle, 'tollgate_upstream_requests', { upstream: 'sandbox', state: 'in_flight' })).to.equal(0)
      expect(valueOf(idle, 'tollgate_held_calls')).to.equal(0)
    })
    const worker = await ofWorker()
    const web = await until('the books were audited', async () => {
      const families = await ofWeb()
      return valueOf(families, 'tollgate_audit_breaches') !== undefined && families
    })
    expect(valueOf(web, 'tollgate_audit_breaches')).to.equal(0)
    expect(valueOf(web, 'tollgate_audit_timestamp_seconds')).to.be.within(startedAt, Date.now() / 1000)
    expect(valueOf(web, 'tollgate_mails_dead')).to.equal(0)
    for (const families of [web, worker]) {
      expect(valueOf(families, 'tollgate_db_connections_max')).to.equal(10)
      for (const name of [
        'nodejs_eventloop_lag_p99_seconds',
        'process_resident_memory_bytes',
        'process_cpu_seconds_total',
      ]) {
        expect(valueOf(families, name), name).to.be.a('number')
      }
    }
  })

  it('are exactly those that docs/operations.md explains', async () => {
    const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
    const explained = new Set(page.match(/tollgate_[a-z_]+/g))
    const served = new Set(
      [...(await ofWeb()).keys(), ...(await ofWorker()).keys()].filter((name) => name.startsWith('tollgate_')),
    )
    expect([...explained].toSorted()).to.deep.equal([...served].toSorted())
  })

  it('need the token, whatever its characters, and do not exist without one', async () => {
    const web = await startTestWeb(await testConfig('http://127.0.0.1:9', { METRICS_TOKEN: TOKEN }))
    for (const wrong of [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Bearer ${'x'.repeat(5000)}` },
      { authorization: `Basic ${btoa('admin:x')}` },
    ] as Record<string, string>[]) {
      const reply = await send('GET', `${web.url}/metrics`, { headers: wrong })
      expect(reply.status).to.equal(401)
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer')
    }
    expect((await send('GET', `${web.url}/metrics`, { headers })).status).to.equal(200)
    await web.stop()
    expect((await send('GET', `${workerUrl}/metrics`)).status).to.equal(401)
    const none = await startTestWeb()
    expect((await send('GET', `${none.url}/metrics`, { headers: { authorization: 'Bearer ' } })).status).to.equal(404)
    await none.stop()
  })

  it('leave out what cannot be read now, and have the rest', async () => {
    const web = await startTestWeb(
      await testConfig('http://127.0.0.1:9', {
        METRICS_TOKEN: 'plain-token',
        REDIS_URL: 'redis://127.0.0.1:9',
        LOG_LEVEL: 'silent',
      }),
    )
    const families = await scrape(web.url)
    for (const name of ['tollgate_queue_jobs', 'tollgate_audit_breaches'])
      expect(valueOf(families, name), name).to.equal(undefined)
    for (const name of ['tollgate_db_connections', 'tollgate_queue_oldest_seconds'])
      expect(valueOf(families, name), name).to.be.a('number')
    await web.stop()
  })
})
