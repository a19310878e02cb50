import { expect } from 'chai'
import { connectTestDb } from '../../../scripts/harness/database.ts'
import { startWeb } from '../../../src/api/web.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { testConfig } from '../../../scripts/harness/harness.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { LogLine } from '../../support/log-lines.ts'
import { readableLog } from '../../support/log-lines.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('a trace', () => {
  let sandbox: Sandbox
  let url: string
  let db: Db
  let key: string
  let stop: () => Promise<void>
  const web = readableLog()
  const worker = readableLog()
  let requests = 0

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.02 })
    const config = await testConfig(sandbox.url)
    const [aWeb, aWorker] = await Promise.all([startWeb(config, web.log, 500), startWorker(config, worker.log, 500)])
    url = `http://127.0.0.1:${aWeb.port}`
    db = connectTestDb(config)
    key = (await anAccount(db, 100_000)).key
    stop = async () => {
      await aWeb.stop()
      await aWorker.stop()
      await db.destroy()
      await sandbox.close()
    }
  })
  after(() => stop())

  /** Places a call. Returns what the upstream received and what both processes logged. */
  async function trace(path: string, body: Record<string, unknown>, prompt: string) {
    const requestId = `request-${++requests}`
    const reply = await post(`${url}${path}`, key, body, { traceparent: TRACEPARENT, 'x-request-id': requestId })
    const call = reply.headers.get('x-call-id')!
    const about = ({ lines }: { lines: LogLine[] }) =>
      lines.filter((line) => line.call === call || line.requestId === requestId)
    await until(
      'both have logged the end',
      () => about(web).some(({ msg }) => msg === 'request') && about(worker).some(({ msg }) => msg === 'call ended'),
    )
    const { json } = await get(`${sandbox.url}/sandbox/journal?prompt=${encodeURIComponent(prompt)}`)
    const seen = json.entries as { method: string; headers: Record<string, string> }[]
    return { reply, requestId, seen, lines: [...about(web), ...about(worker)] }
  }

  const bodies = {
    chat: {
      path: '/v1/chat/completions',
      of: (prompt: string) => ({ model: 'sandbox-chat', messages: [{ role: 'user', content: prompt }] }),
    },
    image: { path: '/v1/images/generations', of: (prompt: string) => ({ model: 'sandbox-image', prompt }) },
    video: { path: '/v1/videos/generations', of: (prompt: string) => ({ model: 'sandbox-video', prompt }) },
  }

  for (const [kind, { path, of }] of Object.entries(bodies)) {
    it(`of a client goes with its ${kind} call to the upstream, and into every log line about it`, async () => {
      const prompt = `a lighthouse for the ${kind}`
      const { reply, requestId, seen, lines } = await trace(path, of(prompt), prompt)
      expect(reply.status, reply.text).to.equal(200)
      expect(seen.length).to.be.greaterThan(kind === 'video' ? 1 : 0)
      for (const { headers } of seen) expect(headers.traceparent).to.equal(TRACEPARENT)
      for (const line of lines) expect(line, line.msg).to.include({ requestId, traceparent: TRACEPARENT })
    })
  }

  it('is logged with a call that failed', async () => {
    const prompt = '[status 400] a lighthouse'
    const { reply, requestId, lines } = await trace(bodies.chat.path, bodies.chat.of(prompt), prompt)
    expect(reply.status, reply.text).to.equal(502)
    expect(lines.map(({ msg }) => msg)).to.include('upstream failed')
    for (const line of lines) expect(line, line.msg).to.include({ requestId, traceparent: TRACEPARENT })
  })

  it('is never logged with a prompt', () => {
    expect(JSON.stringify([...web.lines, ...worker.lines])).not.to.contain('lighthouse')
  })
})
