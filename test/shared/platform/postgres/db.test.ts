import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { connectDb, isUnreachable } from '../../../../src/shared/platform/postgres/db.ts'
import type { Db } from '../../../../src/shared/platform/postgres/db.ts'
import { describeError } from '../../../../src/shared/platform/process/log.ts'
import { connectTestDb, newDatabaseUrl, testDatabaseUrl } from '../../../../scripts/harness/database.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { startPrivatePostgres } from '../../../../scripts/harness/services.ts'
import { removeDataFolder } from '../../../../scripts/services/postgres-place.ts'
import { atPort, movingAddress } from '../../../support/moving-address.ts'
import type { MovingAddress } from '../../../support/moving-address.ts'

describe('an error of Postgres', () => {
  it('names the statement, never its values', async () => {
    const db = connectDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const error = await db.raw('SELECT no_such_column, ?::text', ['what a customer said']).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    await db.destroy()
    expect(JSON.stringify(describeError(error)))
      .to.contain('no_such_column')
      .and.not.to.contain('what a customer said')
  })

  it('is that it cannot be reached, where it takes connections and never answers', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    const { port } = silent.address() as AddressInfo
    const db = connectDb(
      { DATABASE_URL: `postgres://someone:x@127.0.0.1:${port}/d`, DATABASE_SSL: 'off', DATABASE_POOL: 1 },
      { acquireMs: 1000 },
    )
    const failure = () =>
      db.raw('SELECT 1').then(
        () => null,
        (thrown: unknown) => thrown,
      )
    // The second waits for the connection of the first, whose patience ends before its own.
    const [first, second] = await Promise.all([failure(), pause(700).then(failure)])
    await db.destroy()
    silent.close()
    expect([String(first), String(second)].join(), 'one of them').to.include('Error: timeout expired')
    const due = [true, true]
    expect([isUnreachable(first), isUnreachable(second)], `${String(first)}, ${String(second)}`).to.deep.equal(due)
  })
})

describe('a connection to Postgres', () => {
  it('goes through a socket where the address has its folder in place of a host', async () => {
    const folder = mkdtempSync('/tmp/tollgate-')
    const postgres = await startPrivatePostgres({ folder, socket: true })
    const { password } = new URL(postgres.url)
    const socket = `host=${dirname(postgres.data)}&port=${postgres.port}`
    const DATABASE_URL = `postgres://tollgate:${password}@/tollgate?${socket}`
    const db = connectDb({ DATABASE_URL, DATABASE_SSL: 'off', DATABASE_POOL: 1 })
    const { rows } = await db.raw<{ rows: unknown[] }>('SELECT inet_client_addr() AS from, current_database() AS of')
    await db.destroy()
    await postgres.stop('immediate')
    removeDataFolder(folder)
    expect(rows).to.deep.equal([{ from: null, of: 'tollgate' }])
  })

  it('reads dates and locks rows as ever, whatever its database is set to', async () => {
    const DATABASE_URL = await newDatabaseUrl()
    const name = decodeURIComponent(new URL(DATABASE_URL).pathname.slice(1))
    const settings = { DATABASE_URL, DATABASE_SSL: 'off', DATABASE_POOL: 1 } as const
    const operator = connectDb(settings)
    for (const setting of [
      'datestyle = German',
      'datestyle = SQL, DMY',
      'datestyle = Postgres, MDY',
      "default_transaction_isolation = 'serializable'",
    ]) {
      await operator.raw(`ALTER DATABASE "${name}" SET ${setting}`)
      const db = connectDb(settings)
      const { rows } = await db.raw<{ rows: unknown[] }>(
        `SELECT '2026-05-04T03:02:01Z'::timestamptz AS moment, current_setting('transaction_isolation') AS isolation`,
      )
      await db.destroy()
      expect(rows, setting).to.deep.equal([{ moment: new Date('2026-05-04T03:02:01Z'), isolation: 'read committed' }])
    }
    await operator.destroy()
  })
})

describe('a connection that falls silent', () => {
  let url: string
  let address: MovingAddress
  let db: Db
  let direct: Db
  const connect = async (silenceMs: number) => {
    url = await testDatabaseUrl()
    const port = Number(new URL(url).port)
    address = await movingAddress(port)
    const settings = { DATABASE_URL: atPort(url, address.port), DATABASE_SSL: 'off', DATABASE_POOL: 3 } as const
    db = connectDb(settings, { silenceMs })
    direct = connectTestDb({ ...settings, DATABASE_URL: url })
    return () => {
      address.fallSilent()
      address.moveTo(port)
    }
  }
  afterEach(async () => {
    address.close()
    await Promise.all([db.destroy(), direct.destroy()])
  })

  const refusal = (statement: PromiseLike<unknown>): Promise<unknown> =>
    Promise.resolve(statement).then(
      () => null,
      (thrown: unknown) => thrown,
    )
  const pid = async (): Promise<number> =>
    (await db.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid

  it('is one to a Postgres that cannot be reached, and no other of its age is used again', async () => {
    const fallSilent = await connect(3000)
    let old: number[] = []
    // One that is still being made would fail after the others, and with it the statement that waits for it.
    await until('three connections', async () => {
      old = await Promise.all([pid(), pid(), pid()])
      return new Set(old).size === 3
    })
    fallSilent()
    expect(isUnreachable(await refusal(db.raw('SELECT 1')))).to.equal(true)
    const next = await Promise.all([pid(), pid(), pid()])
    expect(next.filter((one) => old.includes(one))).to.deep.equal([])
  })

  it('is left with what it may still answer: the next statement gets its own answer', async () => {
    await connect(1500)
    expect(isUnreachable(await refusal(db.raw(`SELECT pg_sleep(3), 'late' AS said`)))).to.equal(true)
    const { rows } = await db.raw<{ rows: unknown[] }>(`SELECT 'own' AS said FROM pg_sleep(0.4)`)
    expect(rows).to.deep.equal([{ said: 'own' }])
  })

  it('holds locks no longer than that: Postgres ends its transaction', async () => {
    const fallSilent = await connect(1500)
    await direct.raw('CREATE TABLE counters AS SELECT 1 AS number')
    const failure = refusal(
      db.transaction(async (trx) => {
        await trx.raw('UPDATE counters SET number = 2')
        fallSilent()
        // It waits for the lock.
        await direct.raw('UPDATE counters SET number = number + 10')
      }),
    )
    expect(isUnreachable(await failure)).to.equal(true)
    expect(await direct('counters').pluck('number')).to.deep.equal([11])
  })

  it('is not one of which nothing is asked', async () => {
    await connect(1000)
    const first = await pid()
    await direct.raw('SELECT pg_sleep(1.5)')
    expect(await pid()).to.equal(first)
  })
})
