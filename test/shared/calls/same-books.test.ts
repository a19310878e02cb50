import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL_FOLDER } from '../../../migrations/sql.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import type { Db } from '../../../src/shared/infra/db.ts'
import { REMEMBERED } from '../../../src/shared/accounts/key-lookup.ts'
import { newId } from '../../../src/shared/ids.ts'
import { beginCalls, endCalls, openCalls } from '../../../src/shared/calls/statements.ts'
import type { OutcomeRow } from '../../../src/shared/calls/statements.ts'
import { priceVersionOf } from '../../../src/shared/calls/price-versions.ts'
import type { OpenRequest } from '../../../src/shared/calls/types.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { aResult, anOrder } from './opening.ts'

/** Numbers from 0 to 1 that are the same in each run of a seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const FALLS_BACK = 'IF is_plain IS NOT TRUE THEN'

/** The functions that leave what they cannot do to the general ones. */
const SHORT = ['open_one_call', 'open_plain_calls', 'end_one_call', 'end_usual_calls'] as const

/** Makes the short functions count how often they leave a batch to the general ones; or leave each to them. */
async function edit(db: Db, always: boolean): Promise<void> {
  for (const name of SHORT) {
    await db.raw('CREATE SEQUENCE ??', [`left_by_${name}`])
    const text = readFileSync(join(SQL_FOLDER, `${name}.sql`), 'utf8')
    expect(text).to.include(FALLS_BACK)
    const condition = always ? 'IF true THEN' : FALLS_BACK
    await db.raw(
      text.replace(FALLS_BACK, `${condition} PERFORM nextval('left_by_${name}');`).replaceAll('?', String.raw`\?`),
    )
  }
}

type World = { accounts: { id: string; keys: string[] }[] }

/** Accounts with lots of all kinds: one large, several small, expired ones, none; one owes, one limits its key. */
async function populate(dbs: Db[], random: () => number): Promise<World> {
  const accounts = []
  for (let nth = 0; nth < 8; nth++) {
    const account = { id: newId('account'), keys: [newId('key'), newId('key')] }
    const lots = [[100_000], [400, 100_000], [60, 50, 300], [], [30, 20_000], [5000], [3000, 40], [20_000]][nth]!
    const grants = lots.map((amount, at) => ({
      id: newId('grant'),
      amount,
      // The first of the last lots has expired; the others expire or never do.
      hours: nth === 6 && at === 1 ? -1 : random() < 0.4 ? Math.ceil(random() * 9) : null,
    }))
    const credits = lots.reduce((sum, amount) => sum + amount, 0)
    for (const db of dbs) {
      await db('accounts').insert({ id: account.id, credits, ledger_seq: lots.length, keys_limited: nth === 7 })
      for (const [at, key] of account.keys.entries()) {
        await db('api_keys').insert({
          id: key,
          account_id: account.id,
          name: 'k',
          key_hash: Buffer.from(key.replaceAll('-', '').padEnd(64, String(at)), 'hex'),
          hint: 'tg_',
          max_outstanding: nth === 7 && at === 0 ? 3 : null,
          last_used_at: at === 0 ? db.raw("now() + interval '1 hour'") : null,
        })
      }
      for (const [at, { id, amount, hours }] of grants.entries()) {
        await db('grants').insert({
          id,
          account_id: account.id,
          origin: 'purchase',
          amount,
          remaining: amount,
          open: true,
          expires_at: hours === null ? null : db.raw('now() + make_interval(hours => ?)', [hours]),
          created_at: db.raw('now() - make_interval(days => ?)', [9 - at]),
        })
        await db('ledger_entries').insert({
          account_id: account.id,
          seq: at + 1,
          grant_id: id,
          kind: 'grant',
          amount,
          balance_after: lots.slice(0, at + 1).reduce((sum, one) => sum + one, 0),
        })
      }
    }
    accounts.push(account)
  }
  return { accounts }
}

const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!

/** A request that anybody could send. */
const usualOrder = (random: () => number, { accounts: [one, two, , , , three] }: World): OpenRequest => {
  const { id, keys } = pick(random, [one!, two!, three!])
  return anOrder({ id: id as never, keyId: keys[0] as never }, Math.ceil(random() * 50), {
    price: { credits: 7 },
    secretVersion: random() < 0.5 ? REMEMBERED : 1,
  })
}

/** One that may be anything: a repeated id, an Idempotency-Key, another's key, an account that cannot pay. */
function oddOrder(random: () => number, { accounts }: World, known: readonly OpenRequest[]): OpenRequest {
  if (random() < 0.02 && known.length > 0) return pick(random, known)
  const account = random() < 0.5 ? accounts[0]! : pick(random, accounts)
  const stranger = random() < 0.01 ? pick(random, accounts) : account
  const amount = random() < 0.05 ? 0 : Math.ceil(random() * 60)
  const keyed = random() < 0.03
  return anOrder(
    { id: account.id as never, keyId: (random() < 0.97 ? stranger.keys[0] : stranger.keys[1]) as never },
    amount,
    {
      price: { credits: random() < 0.98 ? 7 : amount },
      requestBytes: Math.ceil(random() * 100),
      secretVersion: random() < 0.1 ? REMEMBERED : 1,
      modality: random() < 0.5 ? 'chat' : 'image',
      ...(keyed && { idempotency: { key: pick(random, ['a', 'b', 'c']), seconds: 60 }, requestHash: 'ab'.repeat(32) }),
    },
  )
}

type Outcome = { row: OutcomeRow; output: string }

const usualOutcome = (random: () => number, { id, amount }: OpenRequest): Outcome => ({
  row: { id, status: 'succeeded', cost: Math.floor(random() * (amount + 1)), http_status: 200, result_seconds: 600 },
  output: aResult(1).output,
})

/** An end that may be refused, cost more than was charged, or be of a call whose begin was not written. */
function oddOutcome(random: () => number, { id, amount, model, price }: OpenRequest): Outcome {
  const output = aResult(1).output
  const taken = random() < 0.95 ? price : { credits: 8 }
  const unwritten = random() < 0.3 && { ran_ms: 0, price_version: priceVersionOf(model, taken).id }
  const common = { id, result_seconds: 600, ...unwritten }
  if (random() < 0.3) {
    const guard = pick(random, [{}, {}, { attempt: 1 }, { attempt: 2 }, { from_status: 'queued' }, { overdue: true }])
    const error = pick(random, ['upstream_failed', 'service_unavailable'] as const)
    return { row: { ...common, ...guard, status: 'failed', http_status: 502, error_type: error }, output }
  }
  const cost = pick(random, [
    0,
    amount,
    amount,
    Math.floor(random() * amount),
    Math.floor(random() * amount),
    amount + 9,
  ])
  const tokens = { input_tokens: 9, cached_input_tokens: 2, cache_write_tokens: 1, output_tokens: 5, cost_micro_usd: 3 }
  return { row: { ...common, ...tokens, status: 'succeeded', cost, http_status: 200, upstream: 'u "1"' }, output }
}

/** All tables of the money, without what a clock says. */
async function books(db: Db): Promise<unknown> {
  const read = async (text: string) => (await db.raw<{ rows: object[] }>(text)).rows
  return {
    accounts: await read(
      'SELECT id, credits, debt, ledger_seq, outstanding_calls, request_bytes FROM accounts ORDER BY id',
    ),
    grants: await read(`SELECT id, remaining, open, round(extract(epoch FROM expires_at - now()) / 3600) AS hours
      FROM grants ORDER BY id`),
    entries: await read(`SELECT account_id, seq, call_id, grant_id, kind, amount, balance_after FROM ledger_entries
      ORDER BY account_id, seq`),
    calls: await read(`SELECT to_jsonb(c) - '{created_at,lease_until,started_at,finished_at,deadline_at,latency_ms,
      idempotency_expires_at}'::text[] AS row,
      CASE WHEN started_at IS NULL THEN deadline_at - lease_until END AS seconds,
      started_at IS NULL AS unbegun, finished_at IS NULL AS open, latency_ms IS NULL AS untimed,
      idempotency_expires_at IS NULL AS unkeyed FROM calls c ORDER BY id`),
    results: await read('SELECT call_id, output FROM call_results ORDER BY call_id'),
    prices: await read('SELECT id, model, hash, price FROM price_versions ORDER BY id'),
    keys: await read('SELECT id, outstanding_calls, last_used_at IS NULL AS unused FROM api_keys ORDER BY id'),
  }
}

describe('the short statements of the money', () => {
  let dbs: [short: Db, general: Db]
  beforeEach(async () => {
    const connect = async () =>
      connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    dbs = [await connect(), await connect()]
    await edit(dbs[0], false)
    await edit(dbs[1], true)
  })
  afterEach(() => Promise.all(dbs.map((db) => db.destroy())))

  /** The same in both databases. @returns what both answered, which must be the same. */
  async function both<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const [short, general] = [await work(dbs[0]), await work(dbs[1])]
    expect(short).to.deep.equal(general)
    return short
  }

  /** Opens, begins and ends calls. @param open those that have not ended. @returns those that have not now. */
  async function round(random: () => number, world: World, open: OpenRequest[], seen: OpenRequest[]) {
    const isOdd = random() < 0.4
    const count = Math.ceil(random() ** 2 * 9)
    const orders = Array.from({ length: count }, () =>
      isOdd ? oddOrder(random, world, seen) : usualOrder(random, world),
    )
    const unique = [...new Map(orders.map((order) => [order.id, order])).values()]
    const outcomes = await both((db) => openCalls(db, unique, { maxOutstanding: 12, maxRequestBytes: 5000 }))
    const opened = [...open, ...unique.filter((_, nth) => outcomes[nth]!.outcome === 'opened')]
    const begins = opened.filter(() => random() < 0.3).map(({ id }) => ({ id, run: newId('call') as string }))
    if (begins.length > 0) {
      await both(async (db) => (await beginCalls(db, begins)).map((row) => typeof row === 'object' && row?.attempts))
    }
    const ending = [...opened, ...(isOdd ? seen.slice(-3) : [])].filter(() => random() < 0.3)
    const ends = ending.map((order) => (isOdd ? oddOutcome(random, order) : usualOutcome(random, order)))
    if (ends.length === 0) return opened
    const end = () =>
      both(async (db) =>
        (await endCalls(db, ends)).map((row) => row && { ...row, latency_ms: 0, created_at: 0, running_ms: 0 }),
      )
    const ended = await end()
    // As after an acknowledgement that was lost.
    if (random() < 0.3) await end()
    const gone = new Set(ended.map((row) => row?.id))
    return opened.filter(({ id }) => !gone.has(id))
  }

  const leftBy = async (db: Db, name: string): Promise<number> =>
    (await db.raw<{ rows: { n: number }[] }>('SELECT last_value AS n FROM ??', [`left_by_${name}`])).rows[0]!.n

  it('leave the very books that the general ones leave, whatever comes', async () => {
    const random = randomFrom(Number(process.env.TOLLGATE_SEED ?? 20_261_122))
    const world = await populate(dbs, random)
    let open: OpenRequest[] = []
    const seen: OpenRequest[] = []
    for (let nth = 0; nth < 60; nth++) {
      if (nth === 40) {
        await both((db) => db('accounts').where({ id: world.accounts[5]!.id }).update({ status: 'suspended' }))
        await both((db) => db('api_keys').where({ id: world.accounts[1]!.keys[0] }).update({ revoked_at: db.fn.now() }))
      }
      open = await round(random, world, open, seen)
      seen.push(...open.filter((order) => !seen.includes(order)))
    }
    expect(await books(dbs[0])).to.deep.equal(await books(dbs[1]))
    for (const db of dbs) await expectBooksToBalance(db)
    // Both ways were gone by each, many times.
    for (const name of SHORT) {
      const [short, general] = await Promise.all(dbs.map((db) => leftBy(db, name)))
      expect(short, name).to.be.within(general! * 0.1, general! * 0.8)
    }
  })
})
