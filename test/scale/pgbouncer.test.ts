import { expect } from 'chai'
import pg from 'pg'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { gatewayError } from '../../src/shared/platform/errors.ts'
import { audit } from '../../src/shared/ledger/audit.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import { findPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import type { PgBouncer } from '../support/pgbouncer.ts'
import { aResult, anOrder, verbs, wordOf } from '../shared/calls/opening.ts'

/** Connections to Postgres: far fewer than clients have, so that statements share sessions. */
const SERVER_CONNECTIONS = 3

describe('behind PgBouncer in transaction mode', () => {
  let direct: string
  let bouncer: PgBouncer
  let db: Db
  before(async function () {
    const found = findPgBouncer()
    if ('missing' in found) {
      process.stderr.write(`skipped: ${found.missing}\n`)
      return this.skip()
    }
    direct = await newDatabaseUrl()
    bouncer = await startPgBouncer(found.program, direct, SERVER_CONNECTIONS)
    db = connectTestDb({ DATABASE_URL: bouncer.through(direct), DATABASE_SSL: 'off', DATABASE_POOL: 10 })
    // Sessions get these settings at their start elsewhere: see docs/scaling.md.
    const { pathname } = new URL(direct)
    for (const setting of ['enable_seqscan = off', 'jit = off', `statement_timeout = '20s'`])
      await db.raw(`ALTER DATABASE ?? SET ${setting}`, [pathname.slice(1)])
  })
  after(async () => {
    await db?.destroy()
    await bouncer?.stop()
  })

  const expectBooks = async () => expect((await audit(db)).breaches).to.deep.equal([])

  it('charges, settles and refunds from many pools at once, never beyond a balance', async () => {
    const pools = Array.from({ length: 4 }, () =>
      connectTestDb({ DATABASE_URL: bouncer.through(direct), DATABASE_SSL: 'off', DATABASE_POOL: 5 }),
    )
    const accounts: TestAccount[] = []
    for (const credits of [500, 500, 50]) accounts.push(await anAccount(db, credits))
    const words = await Promise.all(
      Array.from({ length: 240 }, async (_, n) => {
        const calls = verbs(pools[n % pools.length]!)
        const order = anOrder(accounts[n % 3]!, 10)
        const outcome = await calls.open(order)
        if (!outcome.opened) return wordOf(outcome)
        await calls.begin(order.id)
        if (n % 5 === 0) await calls.refund(order.id, gatewayError('upstream_failed'))
        else await calls.settle(order.id, 'image', aResult(7))
        return 'ended'
      }),
    )
    await Promise.all(pools.map((pool) => pool.destroy()))
    // Refused for good, or for what the others hold at that moment.
    const refusals = words.filter((word) => word !== 'ended')
    expect(refusals.length).to.be.above(0)
    for (const word of refusals) expect(word).to.be.oneOf(['insufficient_credits', 'credits_in_use'])
    for (const account of accounts) expect(await balanceOf(db, account.id)).to.be.at.least(0)
    await expectBooks()
  })

  it('holds far fewer connections to Postgres than its clients opened', async () => {
    const client = new pg.Client({ connectionString: direct })
    await client.connect()
    const { rows } = await client.query<{ count: string }>(
      'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await client.end()
    expect(Number(rows[0]!.count)).to.be.within(1, SERVER_CONNECTIONS)
  })

  it('serves chat, images and videos through web and worker, and bills each once', async () => {
    const gateway = await startGateway({ DATABASE_URL: bouncer.through(direct) })
    try {
      const account = await anAccount(db, 100_000)
      const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }
      const replies = await Promise.all([
        ...Array.from({ length: 60 }, () => post(`${gateway.url}/v1/chat/completions`, account.key, chat)),
        ...Array.from({ length: 5 }, () =>
          post(`${gateway.url}/v1/images/generations`, account.key, { model: 'sandbox-image', prompt: 'a boat' }),
        ),
        post(`${gateway.url}/v1/videos/generations`, account.key, { model: 'sandbox-video', prompt: 'a boat' }),
      ])
      expect(replies.map(({ status }) => status)).to.deep.equal(replies.map(() => 200))
      const paid = replies.reduce((sum, { json }) => sum + (json.usage.credits as number), 0)
      expect(await balanceOf(db, account.id)).to.equal(100_000 - paid)
    } finally {
      await gateway.stop()
    }
    await expectBooks()
  })
})
