import { expect } from 'chai'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { startWeb } from '../../src/api/web.ts'
import { PROTOCOLS } from '../../src/shared/catalogue/catalogue.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { readableLog } from '../support/log-lines.ts'
import type { LogLine } from '../support/log-lines.ts'
import { Receiver } from '../support/otlp.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { testConfig } from '../../scripts/harness/harness.ts'
import { send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { TARGETS, aFundedAccount, ask, deliveryOf, everyProtocol } from './support/targets.ts'
import type { Target } from './support/targets.ts'

/** What nobody may read: so short that the error of a parser would have all of it. */
const MARK = 'J0HN-D0E'

/** What an upstream does whose errors quote the prompt. */
const WORDS = {
  all: ['[status 400]', '[status 500]', '[garbage]'],
  chat: ['[error-after 1] [chunks 3 1]', '[quota]'],
  direct: ['[quota]'],
  task: ['[fail]', '[abort]', '[poll-errors 1 500]', '[poll-errors 1 400]'],
}

const wordsFor = (target: Target): string[] => [...WORDS.all, ...WORDS[deliveryOf(target)]]

/** Everything that a database holds, a line a row. */
async function rowsOf(db: Db): Promise<string> {
  const tables = await db('pg_tables').where({ schemaname: 'public' }).pluck('tablename')
  const rows = await Promise.all(
    tables.map((table: string) => db.raw<{ rows: { row: string }[] }>(`SELECT t::text AS row FROM ${table} t`)),
  )
  return rows.flatMap(({ rows: some }) => some.map(({ row }) => row)).join('\n')
}

describe('a prompt that upstreams quote in their errors', () => {
  const { log, lines } = readableLog()
  const receiver = new Receiver()
  let sandbox: Sandbox
  let db: Db
  let url: string
  let stop: () => Promise<void>
  const pages: string[] = []
  let rows: string

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.05 })
    const settings = {
      DATABASE_URL: await newDatabaseUrl(),
      DASHBOARD_PASSWORD: 'board',
      METRICS_TOKEN: 'metrics',
      OTEL_EXPORTER_OTLP_ENDPOINT: await receiver.listen(),
    }
    const config = await testConfig(sandbox.url, settings, everyProtocol)
    const web = await startWeb(config, log, 500)
    const worker = await startWorker(config, log, 500)
    db = connectTestDb({ ...config, DATABASE_POOL: 2 })
    url = `http://127.0.0.1:${web.port}`
    stop = async () => {
      await web.stop()
      await worker.stop()
    }
    const authorization = `Basic ${Buffer.from('admin:board').toString('base64')}`
    const look = async (): Promise<void> => {
      for (const queue of ['chat', 'image', 'video']) {
        const path = `/admin/queues/api/queues?activeQueue=${queue}&status=latest&page=1&jobsPerPage=50`
        pages.push((await send('GET', `${url}${path}`, { headers: { authorization } })).text)
      }
    }
    await Promise.all(TARGETS.map(askAll))
    const account = await aFundedAccount({ db })
    const stuck = ask({ url }, account, { protocol: 'fal', modality: 'video' }, `${MARK} [stuck] [quote]`, {
      prefix: 'hasty-',
    })
    await until('a task waits', async () => (await db('calls').where({ status: 'running' })).length > 0)
    await look()
    await stuck
    pages.push((await send('GET', `${url}/metrics`, { headers: { authorization: 'Bearer metrics' } })).text)
    rows = await rowsOf(db)
    await expectBooksToBalance(db)
    await stop()
  })
  after(async () => {
    await db.destroy()
    await sandbox.close()
    receiver.close()
  })

  async function askAll(target: Target): Promise<void> {
    const account = await aFundedAccount({ db })
    for (const words of wordsFor(target)) {
      const prompt = `${MARK} [quote] ${words}`
      // A key without credit is not asked again.
      const [prefix, streaming] = words === '[quota]' ? (['quota-', 'limited-'] as const) : []
      pages.push((await ask({ url }, account, target, prompt, { prefix })).text)
      if (target.modality === 'chat')
        pages.push((await ask({ url }, account, target, prompt, { prefix: streaming, more: { stream: true } })).text)
    }
  }

  const said = (of: LogLine[]): string => of.map((line) => JSON.stringify(line)).join('\n')

  it('stands in no line of the log, which says status, code and type', () => {
    for (const protocol of PROTOCOLS) expect(said(lines), protocol).to.contain(protocol)
    const failures = lines.filter(
      ({ msg }) => msg === 'upstream failed' || msg === 'task failed' || msg === 'poll failed',
    )
    expect(failures.length).to.be.above(30)
    expect(said(failures)).to.contain('"status":400').and.to.contain('"type":"invalid_request_error"')
    expect(said(failures)).to.contain('content_policy_violation')
    expect(said(lines)).not.to.contain(MARK)
  })

  it('stands in no span and no metric', () => {
    expect(receiver.spans.length).to.be.above(30)
    expect(receiver.bodies.join('\n')).not.to.contain(MARK)
  })

  it('stands in no record', () => {
    expect(rows).to.contain('upstream_failed')
    expect(rows).not.to.contain(MARK)
  })

  it('stands in no answer, of the dashboard neither', () => {
    expect(pages.join('\n')).to.contain('callId').and.to.contain('tollgate_')
    expect(pages.join('\n')).not.to.contain(MARK)
  })
})
