import { expect } from 'chai'
import pg from 'pg'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { chat } from '../../../scripts/harness/calling.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { expectBooksToBalance } from '../../support/books.ts'

/** What a process does by itself may fall into the time of a chat, so the least of so many chats counts. */
const CHATS = 8

/** Those of the charge and the end. */
const FLUSHES = 2

/** What a chat asks of Postgres: the names of its prepared statements, and how often their backends wrote the log. */
type Asked = { statements: string[]; flushes: number }

describe('a lone chat', () => {
  let gateway: Gateway
  let account: TestAccount
  /** The connections of the gateway, and how often the backend of each had written the log when it was asked. */
  const clients = new Map<pg.Client, number>()
  let statements: string[] = []
  const query = Reflect.get(pg.Client.prototype, 'query') as (this: pg.Client, ...all: unknown[]) => unknown

  before(async () => {
    const url = await newDatabaseUrl()
    const database = new URL(url).pathname.slice(1)
    const counting = function (this: pg.Client, ...args: unknown[]) {
      if ((this as { database?: string }).database === database) {
        if (!clients.has(this)) clients.set(this, 0)
        const { name, text } = args[0] as { name?: string; text?: string }
        statements.push(name ?? text ?? String(args[0]))
      }
      return query.apply(this, args)
    }
    Object.assign(pg.Client.prototype, { query: counting })
    gateway = await startGateway({ DATABASE_URL: url })
    account = await anAccount(gateway.db, 1_000_000)
    // The first call of a price writes that too, and connections are opened.
    await askedByChat(account.key)
  })
  after(async () => {
    Object.assign(pg.Client.prototype, { query })
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
  })

  /** How often the backends of the gateway have written the log, which each durable commit does. */
  async function flushesSoFar(): Promise<number> {
    await Promise.all([...clients.keys()].map(async (client) => clients.set(client, await writesOf(client))))
    return [...clients.values()].reduce((sum, writes) => sum + writes, 0)
  }

  /** Of a connection that its pool has closed meanwhile, what it had said before. */
  async function writesOf(client: pg.Client): Promise<number> {
    const ask = query.bind(client) as (text: string) => Promise<pg.QueryResult<{ writes: number }>>
    try {
      // Backends report what they did at most once a second otherwise.
      await ask('SELECT pg_stat_force_next_flush()')
      const { rows } = await ask(`SELECT coalesce(sum(writes), 0)::integer AS writes
        FROM pg_stat_get_backend_io(pg_backend_pid()) WHERE object = 'wal'`)
      return rows[0]!.writes
    } catch {
      return clients.get(client)!
    }
  }

  async function askedByChat(key: string): Promise<Asked> {
    const before = await flushesSoFar()
    statements = []
    expect((await chat(gateway, { key }, 'Hello.')).status).to.equal(200)
    const own = statements
    statements = []
    return { statements: own, flushes: (await flushesSoFar()) - before }
  }

  /** The least that one of several chats takes. */
  async function leastOf(keyOf: () => Promise<string>): Promise<Asked> {
    const all: Asked[] = []
    for (let nth = 0; nth < CHATS; nth++) all.push(await askedByChat(await keyOf()))
    const [least] = all.toSorted((a, b) => a.statements.length - b.statements.length)
    return { statements: least!.statements.toSorted(), flushes: Math.min(...all.map(({ flushes }) => flushes)) }
  }

  it('takes three statements and two flushes where its key was seen within the last second', async function () {
    const { rows } = await gateway.db.raw<{ rows: { version: number }[] }>(
      `SELECT current_setting('server_version_num')::integer AS version`,
    )
    // Older ones do not count the writes of each backend.
    if (rows[0]!.version < 180_000) this.skip()
    expect(await leastOf(async () => account.key)).to.deep.equal({
      statements: ['begin_calls', 'end_calls', 'open_calls'],
      flushes: FLUSHES,
    })
  })

  it('looks up a key that was not', async () => {
    const { statements: asked } = await leastOf(async () => (await createKey(gateway.db, account.id, 'new')).secret)
    expect(asked).to.deep.equal(['begin_calls', 'end_calls', 'find_principals', 'open_calls'])
  })
})
