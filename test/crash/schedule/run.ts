import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import { deduct } from '../../../src/shared/ledger/deductions.ts'
import { expireGrants, grant } from '../../../src/shared/ledger/ledger.ts'
import { RUNNING_LEASE_SECONDS } from '../../../src/shared/calls/lifecycle.ts'
import { World } from '../world/world.ts'
import type { Account } from '../world/accounts.ts'
import { openAccount, passEdge } from '../world/accounts.ts'
import { Request } from '../world/clients.ts'
import type { Asked } from '../world/clients.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { checkClients, checkOutstanding } from './checks.ts'
import type { Ask, Move, Schedule } from './moves.ts'
import { withHistory } from './schedule-run.ts'
import type { ScheduleRun } from './schedule-run.ts'

/** Rounds of recovery after which an open call counts as lost. */
const MAX_ROUNDS = 40

/** Effects in one round of recovery. */
const MAX_EFFECTS = 12

/**
 * Runs a schedule against a real Postgres, and lets everything recover. `judge` checks what it leaves in the database.
 * @throws an Error that names the broken promise, and what happened.
 */
export async function play(db: Db, name: string, { grants, limits, moves }: Schedule): Promise<ScheduleRun> {
  const world = new World(db, name)
  const accounts = await Promise.all(grants.map((amounts, at) => openAccount(db, amounts, limits[at] ?? null)))
  const run: ScheduleRun = { db, name, world, accounts, requests: [], prices: new Map() }
  try {
    for (let pair = 0; pair < 2; pair++) await Promise.all([world.addWeb(), world.addWorker()])
    for (const move of moves) {
      world.turns.history.push(`— ${JSON.stringify(move)}`)
      await make(run, move)
    }
    await checkOutstanding(run)
    world.turns.history.push('— healing')
    await heal(run)
    checkClients(run)
    return run
  } catch (error) {
    throw withHistory(run, error)
  } finally {
    run.requests.forEach((request) => request.forget())
    await world.end()
  }
}

const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]

async function make(run: ScheduleRun, move: Move): Promise<void> {
  const { db, world, accounts } = run
  switch (move.do) {
    case 'go':
      return world.turns.release(move.places)
    case 'ask':
      return ask(run, move.asks)
    case 'deliver':
      return deliver(world, move.jobs, move.worker)
    case 'lapse':
      return world.dispatch.lapse(pick(world.dispatch.active(), move.which)?.id as CallId)
    case 'again':
      return world.dispatch.again(move.which)
    case 'leave':
      return leave(run, move.which)
    case 'overdue look':
      return lookOverdue(run, move.which)
    case 'die':
      return die(run, move)
    case 'stop worker':
      return world.stopWorker(pick(world.liveWorkers(), move.which))
    case 'reconcile':
      return reconcile(world, move.which)
    case 'cut wire':
      return cutWire(world, move.which)
    case 'flush':
      return world.flush()
    case 'mend wire':
      return void world.wire.mend()
    case 'sweep grants':
      return void (await expireGrants(db, 100))
    case 'change prices':
      return world.changePrices()
    case 'audit':
      return audit(run)
    case 'pass':
      return world.pass(
        accounts.map(({ id }) => id),
        move.seconds,
        move.deadlines,
      )
    case 'enqueue':
      return void (world.dispatch.fate = move.fate)
    case 'grant':
      return give(db, pick(accounts, move.who)!, move.amount)
    case 'deduct':
      return take(db, pick(accounts, move.who)!, move.amount)
    case 'expire grant':
      return void (await db('grants')
        .where({ id: pick(pick(accounts, move.who)!.grants, move.amount)! })
        .update({ expires_at: db.raw('least(expires_at, now())') }))
    case 'pass edge':
      return passEdge(db, pick(accounts, move.who)!)
    case 'revoke key':
      return void (await db('api_keys')
        .where({ id: pick(pick(accounts, move.who)!.keyIds, move.who >> 1)! })
        .update({ revoked_at: db.raw('coalesce(revoked_at, now())') }))
  }
}

async function audit(run: ScheduleRun): Promise<void> {
  await expectBooksToBalance(run.db)
  await checkOutstanding(run)
}

async function ask(run: ScheduleRun, asks: readonly Ask[]): Promise<void> {
  const { world, accounts, requests } = run
  for (const { who, modality, stream, second, large, key, ...manner } of asks) {
    const web = pick(world.liveWebs(), who)
    if (!web) return
    const account = pick(accounts, who)!
    const idempotencyKey = key === null ? null : `${modality}-${stream}-${key}`
    // A repeated request is the same: its prompt, and so the upstream's behaviour, is that of the first.
    const first =
      key === null
        ? undefined
        : requests.find(({ asked }) => asked.idempotencyKey === idempotencyKey && asked.account === account)
    const prompt = first?.asked.prompt ?? `p${requests.length}`
    if (!first) world.upstream.expect(prompt, manner)
    const keyId = account.keyIds[second ? 1 : 0]!
    const shape = { large: first?.asked.large ?? large, stream: stream && modality === 'chat' }
    send(run, web, { modality, prompt, ...shape, idempotencyKey, account, keyId })
  }
  await world.turns.rest()
}

function send(run: ScheduleRun, web: World['webs'][number], asked: Asked): Request {
  const { world, requests, prices } = run
  const request = new Request(world, web, asked)
  requests.push(request)
  prices.set(request, world.prices)
  return request
}

async function deliver(world: World, jobs: number, which: number): Promise<void> {
  for (const id of world.dispatch.ready().slice(0, jobs)) {
    const worker = pick(world.liveWorkers(), which)
    if (worker) world.deliver(id, worker)
  }
  await world.turns.rest()
}

async function leave({ world, requests }: ScheduleRun, which: number): Promise<void> {
  const request = pick(
    requests.filter(
      ({ placed, web, left, outcome }) => placed && web.process.alive && !left && outcome.is === 'unknown',
    ),
    which,
  )
  // An abandoned request can end in any way that its upstream allows. Its process may be killed meanwhile.
  request?.leave().catch(() => {})
  await world.turns.rest()
}

async function lookOverdue({ world, requests }: ScheduleRun, which: number): Promise<void> {
  const request = pick(
    requests.filter(({ placed, web }) => placed && web.process.alive),
    which,
  )
  if (request) void request.web.replies.endLost(request.callId, true)
  await world.turns.rest()
}

async function die({ world, requests }: ScheduleRun, { side, which, places }: Move & { do: 'die' }): Promise<void> {
  const all = side === 'web' ? world.liveWebs() : world.workers.filter(({ process }) => process.alive)
  const victim = pick<{ process: World['webs'][number]['process'] }>(all, which)?.process
  if (!victim) return
  await world.turns.release(places, victim)
  if (side === 'web')
    requests.filter((request) => request.web.process === victim).forEach((request) => request.forget())
  if (side === 'web') await world.addWeb()
  else await world.addWorker()
}

async function reconcile(world: World, which: number): Promise<void> {
  const worker = pick(world.liveWorkers(), which)
  if (worker) world.reconcile(worker)
  await world.turns.rest()
}

function cutWire(world: World, which: number): void {
  const web = pick(world.liveWebs(), which)
  if (web) world.wire.cut(web.process)
}

async function give(db: Db, account: Account, amount: number): Promise<void> {
  const id = newId('grant')
  await db.transaction((trx) => grant(trx, { id, accountId: account.id, origin: 'bonus', amount }))
  account.grants.push(id)
}

/** Takes credits back while calls hold others: every second time what is gone becomes debt. */
async function take(db: Db, { id: accountId }: Account, amount: number): Promise<void> {
  const wanted = {
    id: newId('deduction'),
    accountId,
    amount,
    mayOwe: amount % 2 === 0,
    reason: 'a schedule',
    key: null,
  }
  await db.transaction((trx) => deduct(trx, wanted))
}

/** No more faults: from here on everything must end by itself. */
async function heal(run: ScheduleRun): Promise<void> {
  const { db, world, accounts } = run
  const ids = accounts.map(({ id }) => id)
  world.dispatch.fate = 'taken'
  world.wire.mend()
  if (world.liveWorkers().length === 0) await world.addWorker()
  if (world.liveWebs().length === 0) await world.addWeb()
  for (let round = 0; ; round++) {
    for (const { id, holder } of world.dispatch.active()) if (!holder?.alive) world.dispatch.lapse(id)
    for (let effects = 0; effects === 0 || (effects < MAX_EFFECTS && world.turns.waiting().length > 0); effects++)
      await world.turns.releaseAll()
    await deliver(world, 1000, round)
    const isQuiet = world.turns.waiting().length === 0 && world.dispatch.ready().length === 0
    if (isQuiet && (await countOpen(db, ids)) === 0) break
    if (round % 3 === 2) await world.pass(ids, RUNNING_LEASE_SECONDS, round % 6 === 5)
    if (round % 3 === 2) await reconcile(world, round)
    if (round > MAX_ROUNDS)
      throw new Error(
        `not live: ${await countOpen(db, ids)} calls are open after ${round} rounds; ` +
          `waiting: ${world.turns.waiting().join(', ')}`,
      )
  }
  // A web process does this every few seconds, in case a reply was lost.
  await Promise.all(world.liveWebs().map(({ replies }) => replies.recheck()))
  await world.turns.rest()
}

async function countOpen(db: Db, ids: readonly AccountId[]): Promise<number> {
  const [row] = await db('calls')
    .whereIn('account_id', [...ids])
    .whereIn('status', ['queued', 'running'])
    .count<{ open: number }[]>({ open: '*' })
  return row!.open
}
