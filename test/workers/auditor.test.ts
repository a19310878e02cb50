import { expect } from 'chai'
import type { Redis } from 'ioredis'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { auditActive } from '../../src/shared/ledger/audit.ts'
import { createAudits } from '../../src/shared/metrics/audits.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { AUDIT_EVERY_MS, auditWhenDue } from '../../src/workers/auditor.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { readableLog } from '../support/log-lines.ts'
import { anOrder, verbs } from '../shared/calls/opening.ts'

const NOON = 1_800_000_000_000

describe('the auditor', () => {
  // A database of its own, whose books are broken on purpose.
  let db: Db
  let redis: Redis
  let audits: ReturnType<typeof createAudits>
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    redis = connectPersistent({ REDIS_URL: (await testRedis()).url, REDIS_TLS_VERIFY: 'on' })
  })
  beforeEach(() => {
    audits = createAudits(redis, newId('call'))
  })
  after(async () => {
    redis.disconnect()
    await db.destroy()
  })

  /** An account with a grant and this many calls: one entry for the grant, one for each call. */
  async function active(calls = 1): Promise<TestAccount> {
    const account = await anAccount(db, 1000)
    for (let call = 0; call < calls; call++) await verbs(db).open(anOrder(account, 10))
    return account
  }

  it('finds nothing wrong in books that balance', async () => {
    await active()
    const { log, lines } = readableLog()
    await auditWhenDue({ db, log, audits }, NOON)
    expect(lines).to.deep.equal([])
    expect(await audits.last()).to.include({ at: NOON, breaches: 0 })
  })

  it('checks again after ten minutes, not before', async () => {
    const { log } = readableLog()
    await auditWhenDue({ db, log, audits }, NOON)
    await auditWhenDue({ db, log, audits }, NOON + AUDIT_EVERY_MS - 1)
    expect((await audits.last())!.at).to.equal(NOON)
    await auditWhenDue({ db, log, audits }, NOON + AUDIT_EVERY_MS)
    expect((await audits.last())!.at).to.equal(NOON + AUDIT_EVERY_MS)
  })

  it('reads only active accounts, and no more entries than it may', async () => {
    await anAccount(db, 1000)
    await active(1)
    await active(30)
    const looked = async (entries: number) => {
      const { checked } = await auditActive(db, entries)
      expect(checked.ledger_entries).to.be.at.most(entries)
      return checked.accounts!
    }
    const {
      rows: [all],
    } = await db.raw<{ rows: { accounts: number; entries: number }[] }>(
      `SELECT count(*) AS accounts, sum(ledger_seq)::bigint AS entries FROM accounts
       WHERE id IN (SELECT account_id FROM calls)`,
    )
    expect(await looked(100_000)).to.equal(all!.accounts)
    expect(await looked(all!.entries)).to.equal(all!.accounts)
    expect(await looked(20)).to.be.within(1, all!.accounts - 1)
    expect(await looked(1)).to.equal(0)
  })

  it('logs every broken invariant of a balance that is not the sum of its entries', async () => {
    const account = await active()
    await db('accounts').where({ id: account.id }).increment('credits', 7)
    const { log, lines } = readableLog()
    await auditWhenDue({ db, log, audits }, NOON)
    expect(lines.map(({ msg }) => msg)).to.deep.equal(['the books do not balance', 'the books do not balance'])
    expect(lines.map(({ invariant }) => invariant)).to.deep.equal([
      "a balance is the sum of its account's entries",
      "a balance is the sum of its grants' remainders",
    ])
    expect(lines[0]).to.deep.include({ level: 50, rows: [{ account_id: account.id, credits: 997, entries: 990 }] })
    expect((await audits.last())!.breaches).to.equal(2)
    await db('accounts').where({ id: account.id }).decrement('credits', 7)
  })
})
