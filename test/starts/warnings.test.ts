import { expect } from 'chai'
import { newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { Started, compiled } from './support/started.ts'

/** Warns as a library does: once somebody listens, which is while the process starts; and when it is asked to. */
const WARN = `
process.on('newListener', (event) => {
  if (event === 'warning') process.emitWarning('two\\nlines', { type: 'DeprecationWarning', code: 'LIB01' })
})
process.on('SIGCONT', () => {
  process.emitWarning('later')
  console.warn('on the %s', 'console')
})
`

describe('warnings of Node and of libraries', function () {
  let settings: Record<string, string>
  before(async function () {
    this.timeout(300_000)
    await compiled()
    const { url, prefix } = await testRedis()
    settings = { DATABASE_URL: await newDatabaseUrl(), REDIS_URL: url, REDIS_PREFIX: prefix }
    await offer(settings.DATABASE_URL!, sandboxCatalogue('http://127.0.0.1:9'))
  })

  let worker: Started
  afterEach(() => worker.kill())

  it('are lines of the log like all others', async () => {
    worker = new Started('worker', {
      ...settings,
      APP_SECRET: 'x'.repeat(32),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WARN)}`,
    })
    await worker.says('worker process running')
    expect(JSON.parse(await worker.says('two'))).to.include({
      level: 'warn',
      process: 'worker',
      warning: 'DeprecationWarning',
      code: 'LIB01',
      msg: 'two lines',
    })
    worker.child.kill('SIGCONT')
    expect(JSON.parse(await worker.says('later'))).to.include({ level: 'warn', warning: 'Warning', msg: 'later' })
    expect(JSON.parse(await worker.says('on the'))).to.include({ level: 'warn', msg: 'on the console' })
    for (const line of worker.lines) expect(() => JSON.parse(line), line).not.to.throw()
  })
})
