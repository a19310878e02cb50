import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import type { Postgres } from '../../scripts/services/postgres.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'
import { migrate } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../scripts/harness/services.ts'
import { Crowd, chat, image, statuses } from './clients.ts'
import type { ClientOutcome } from './clients.ts'
import { inSoak, report } from './scale.ts'

const CLIENTS = 12

/** The promise, with a margin for a machine that runs other tests. */
const SERVING_AGAIN_MS = 5000 + (inSoak ? 0 : 10_000)

describe('an outage under load', () => {
  let sandbox: Sandbox
  let postgres: Postgres
  let redis: PrivateRedis
  let town: Installation
  let web: Program
  let account: TestAccount

  before(async () => {
    ;[sandbox, postgres, redis] = await Promise.all([
      createSandbox({ imageSeconds: 0.05 }),
      startPrivatePostgres(),
      startPrivateRedis(),
    ])
    await migrate(postgres.url)
    town = await install(sandbox, {}, { databaseUrl: postgres.url, redisUrl: redis.url })
    ;[web] = await Promise.all([town.start('web'), town.start('worker')])
    account = await anAccount(town.db, 10_000_000)
  })
  after(async () => {
    await town.end()
    await Promise.all([postgres.stop('immediate'), redis.stop()])
    await sandbox.close()
  })

  /** Loads the gateway and causes an outage. @returns all outcomes, and the ms from its end until calls were served */
  async function through(store: Postgres | PrivateRedis): Promise<{ outcomes: ClientOutcome[]; againMs: number }> {
    const ask = (nth: number) => (nth % 2 === 0 ? chat : image)(`outage ${nth}`)
    const load = new Crowd(CLIENTS, () => web.url, account.key, ask)
    const served = (since: number) => load.outcomes.find(({ at, status }) => at > since && status === 200)
    try {
      await until('calls to be served', () => served(0))
      await store.kill()
      await store.start()
      const backAt = Date.now()
      const first = await until('calls to be served again', () => served(backAt))
      return { outcomes: load.outcomes, againMs: Math.max(0, first.at + first.ms - backAt) }
    } finally {
      await load.stop()
    }
  }

  const STORES = { Postgres: () => postgres, 'a Redis that loses its data': () => redis }
  for (const [name, store] of Object.entries(STORES))
    it(`by a crash of ${name} is over within 5 s of its return`, async () => {
      const { outcomes, againMs } = await through(store())
      const calls = await untilEnded(town.db, account.id)
      const other = outcomes.filter(({ status }) => ![200, 502, 503].includes(status))
      expect(
        other.map(({ status, error, reply }) => `${status} ${error} ${reply?.text ?? ''}`),
        'nothing but answers, refunds and documented refusals',
      ).to.deep.equal([])
      for (const { status, reply } of outcomes)
        if (status === 503) expect(reply!.headers.get('retry-after'), reply!.text).to.match(/^\d+$/)
      const succeeded = calls.filter(({ status }) => status === 'succeeded').length
      const answered = outcomes.filter(({ status }) => status === 200).length
      expect(answered, 'every 200 is a call that succeeded').to.be.at.most(succeeded)
      await expectBooksToBalance(town.db)
      report(`${name}: ${statuses(outcomes)}; serving again ${Math.round(againMs)} ms after it was back`)
      expect(againMs).to.be.below(SERVING_AGAIN_MS)
    })
})
