import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import { deduct } from '../../../src/shared/ledger/deductions.ts'
import { expireGrants, grant } from '../../../src/shared/ledger/ledger.ts'
import { RUNNING_LEASE_SECONDS } from '../../../src/shared/terms/lifecycle.ts'
import { setGroup } from '../../../src/shared/identity/account-limits.ts'
import { GROUP, Simulation } from '../simulation/simulation.ts'
import type { Account } from '../simulation/accounts.ts'
import { openAccount, passEdge, passMinute } from '../simulation/accounts.ts'
import { Request } from '../simulation/clients.ts'
import type { Asked } from '../simulation/clients.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { checkClients, checkOutstanding } from './checks.ts'
import type { Ask, Move, Schedule } from './moves.ts'
import { checkUploads } from './upload-checks.ts'
import { withHistory } from './schedule-run.ts'
import type { ScheduleRun } from './schedule-run.ts'

/** Rounds of recovery after which an open call counts as lost. */
const MAX_ROUNDS = 40

/** Effects in one round of recovery. */
const MAX_EFFECTS = 12

/**
 * Runs a schedule against a real Postgres, and lets everything recover. `checkOutcome` checks what it leaves in the
 * database.
 * @throws an Error that names the broken promise, and what happened.
 */
export async function play(db: Db, name: string, schedule: Schedule): Promise<ScheduleRun> {
  const { keys, grants, limits, tokens, grouped, moves } = schedule
  const simulation = new Simulation(db, name, keys)
  const accounts = await Promise.all(
    grants.map((amounts, at) =>
      openAccount(db, amounts, {
        limits: limits[at] ?? null,
        tokens: tokens[at]!,
        group: grouped[at] ? GROUP.name : null,
      }),
    ),
  )
  const run: ScheduleRun = { db, name, simulation, accounts, requests: [], prices: new Map() }
  try {
    for (let pair = 0; pair < 2; pair++) await Promise.all([simulation.addWeb(), simulation.addWorker()])
    for (const move of moves) {
      simulation.turns.history.push(`— ${JSON.stringify(move)}`)
      await make(run, move)
    }
    await checkOutstanding(run)
    simulation.turns.history.push('— healing')
    await heal(run)
    await checkUploads(run)
    checkClients(run)
    return run
  } catch (error) {
    throw withHistory(run, error)
  } finally {
    run.requests.forEach((request) => request.forget())
    await simulation.end()
  }
}

const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]

async function make(run: ScheduleRun, move: Move): Promise<void> {
  const { db, simulation, accounts } = run
  switch (move.do) {
    case 'go':
      return simulation.turns.release(move.places)
    case 'ask':
      return ask(run, move.asks)
    case 'deliver':
      return deliver(simulation, move.jobs, move.worker)
    case 'lapse':
      return simulation.dispatch.lapse(pick(simulation.dispatch.active(), move.which)?.id as CallId)
    case 'again':
      return simulation.dispatch.again(move.which)
    case 'leave':
      return leave(run, move.which)
    case 'delete':
      return remove(run, move.which)
    case 'overdue look':
      return lookOverdue(run, move.which)
    case 'die':
      return die(run, move)
    case 'stop worker':
      return simulation.stopWorker(pick(simulation.liveWorkers(), move.which))
    case 'reconcile':
      return reconcile(simulation, move.which)
    case 'cut wire':
      return cutWire(simulation, move.which)
    case 'flush':
      return simulation.flush()
    case 'mend wire':
      return void simulation.wire.mend()
    case 'sweep grants':
      return void (await expireGrants(db, 100))
    case 'change prices':
      return simulation.changePrices()
    case 'audit':
      return audit(run)
    case 'pass':
      return simulation.pass(
        accounts.map(({ id }) => id),
        move.seconds,
        move.deadlines,
      )
    case 'enqueue':
      return void (simulation.dispatch.fate = move.fate)
    case 'grant':
      return give(db, pick(accounts, move.auth)!, move.amount)
    case 'deduct':
      return take(db, pick(accounts, move.auth)!, move.amount)
    case 'expire grant':
      return void (await db('grants')
        .where({ id: pick(pick(accounts, move.auth)!.grants, move.amount)! })
        .update({ expires_at: db.raw('least(expires_at, now())') }))
    case 'pass minute':
      return passMinute(db, pick(accounts, move.auth)!)
    case 'pass edge':
      return passEdge(db, pick(accounts, move.auth)!)
    case 'regroup':
      return regroup(db, pick(accounts, move.auth)!)
    case 'revoke key':
      return void (await db('api_keys')
        .where({ id: pick(pick(accounts, move.auth)!.keyIds, move.auth >> 1)! })
        .update({ revoked_at: db.raw('coalesce(revoked_at, now())') }))
  }
}

async function audit(run: ScheduleRun): Promise<void> {
  await expectBooksToBalance(run.db)
  await checkOutstanding(run)
}

async function ask(run: ScheduleRun, asks: readonly Ask[]): Promise<void> {
  const { simulation, accounts, requests } = run
  for (const { auth, modality, dialect, stream, second, large, key, ...manner } of asks) {
    const web = pick(simulation.liveWebs(), auth)
    if (!web) return
    const account = pick(accounts, auth)!
    const idempotencyKey = key === null ? null : `${modality}-${stream}-${key}`
    // A repeated request is the same: its prompt, and so the upstream's behaviour, is that of the first.
    const first =
      key === null
        ? undefined
        : requests.find(({ asked }) => asked.idempotencyKey === idempotencyKey && asked.account === account)
    const prompt = first?.asked.prompt ?? `p${requests.length}`
    if (!first) simulation.upstream.expect(prompt, manner)
    const keyId = account.keyIds[second ? 1 : 0]!
    const shape = {
      large: first?.asked.large ?? large,
      dialect: first?.asked.dialect ?? dialect,
      stream: stream && modality === 'chat',
    }
    send(run, web, { modality, prompt, ...shape, idempotencyKey, account, keyId })
  }
  await simulation.turns.rest()
}

function send(run: ScheduleRun, web: Simulation['webs'][number], asked: Asked): Request {
  const { simulation, requests, prices } = run
  const request = new Request(simulation, web, asked)
  requests.push(request)
  prices.set(request, simulation.pricesFor(asked.account.group))
  return request
}

async function deliver(simulation: Simulation, jobs: number, which: number): Promise<void> {
  for (const id of simulation.dispatch.ready().slice(0, jobs)) {
    const worker = pick(simulation.liveWorkers(), which)
    if (worker) simulation.deliver(id, worker)
  }
  await simulation.turns.rest()
}

async function leave({ simulation, requests }: ScheduleRun, which: number): Promise<void> {
  const request = pick(
    requests.filter(
      ({ placed, web, left, outcome }) => placed && web.process.alive && !left && outcome.is === 'unknown',
    ),
    which,
  )
  // An abandoned request can end in any way that its upstream allows. Its process may be killed meanwhile.
  request?.leave().catch(() => {})
  await simulation.turns.rest()
}

async function remove({ simulation, requests }: ScheduleRun, which: number): Promise<void> {
  const videos = requests.filter(({ asked, placed, web }) => asked.modality === 'video' && placed && web.process.alive)
  // Its process may be killed meanwhile.
  pick(videos, which)
    ?.delete()
    .catch((error: unknown) => simulation.dispatch.defects.push(error))
  await simulation.turns.rest()
}

async function lookOverdue({ simulation, requests }: ScheduleRun, which: number): Promise<void> {
  const request = pick(
    requests.filter(({ placed, web }) => placed && web.process.alive),
    which,
  )
  if (request) void request.web.replies.endLost(request.callId, true)
  await simulation.turns.rest()
}

async function die(
  { simulation, requests }: ScheduleRun,
  { side, which, places }: Move & { do: 'die' },
): Promise<void> {
  const all = side === 'web' ? simulation.liveWebs() : simulation.workers.filter(({ process }) => process.alive)
  const victim = pick<{ process: Simulation['webs'][number]['process'] }>(all, which)?.process
  if (!victim) return
  await simulation.turns.release(places, victim)
  if (side === 'web')
    requests.filter((request) => request.web.process === victim).forEach((request) => request.forget())
  if (side === 'web') await simulation.addWeb()
  else await simulation.addWorker()
}

async function reconcile(simulation: Simulation, which: number): Promise<void> {
  const worker = pick(simulation.liveWorkers(), which)
  if (worker) simulation.reconcile(worker)
  await simulation.turns.rest()
}

function cutWire(simulation: Simulation, which: number): void {
  const web = pick(simulation.liveWebs(), which)
  if (web) simulation.wire.cut(web.process)
}

/** Puts an account into the group, or takes it out: what it asked for before is opened at its price, or refused. */
async function regroup(db: Db, account: Account): Promise<void> {
  account.group = account.group === null ? GROUP.name : null
  await db.transaction((trx) => setGroup(trx, account.id, account.group))
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
  const { db, simulation, accounts } = run
  const ids = accounts.map(({ id }) => id)
  simulation.dispatch.fate = 'taken'
  simulation.wire.mend()
  if (simulation.liveWorkers().length === 0) await simulation.addWorker()
  if (simulation.liveWebs().length === 0) await simulation.addWeb()
  for (let round = 0; ; round++) {
    for (const { id, holder } of simulation.dispatch.active()) if (!holder?.alive) simulation.dispatch.lapse(id)
    for (let effects = 0; effects === 0 || (effects < MAX_EFFECTS && simulation.turns.waiting().length > 0); effects++)
      await simulation.turns.releaseAll()
    await deliver(simulation, 1000, round)
    const isQuiet = simulation.turns.waiting().length === 0 && simulation.dispatch.ready().length === 0
    if (isQuiet && (await countOpen(db, ids)) === 0) break
    if (round % 3 === 2) await simulation.pass(ids, RUNNING_LEASE_SECONDS, round % 6 === 5)
    if (round % 3 === 2) await reconcile(simulation, round)
    if (round > MAX_ROUNDS)
      throw new Error(
        `not live: ${await countOpen(db, ids)} calls are open after ${round} rounds; ` +
          `waiting: ${simulation.turns.waiting().join(', ')}`,
      )
  }
  // A web process does this every few seconds, in case a reply was lost.
  await Promise.all(simulation.liveWebs().map(({ replies }) => replies.recheck()))
  await simulation.turns.rest()
}

async function countOpen(db: Db, ids: readonly AccountId[]): Promise<number> {
  const [row] = await db('calls')
    .whereIn('account_id', [...ids])
    .whereIn('status', ['queued', 'running'])
    .count<{ open: number }[]>({ open: '*' })
  return row!.open
}
