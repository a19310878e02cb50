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
import { checkUploads } from './file-checks.ts'
import type { Makers } from '../simulator.ts'
import { pick, withHistory } from '../simulator.ts'
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
  const { history } = simulation.turns
  const run: ScheduleRun = { db, name, history, simulation, accounts, requests: [], prices: new Map() }
  try {
    for (let pair = 0; pair < 2; pair++) await Promise.all([simulation.addWeb(), simulation.addWorker()])
    for (const move of moves) {
      history.push(`— ${JSON.stringify(move)}`)
      await make(run, move)
    }
    await checkOutstanding(run)
    history.push('— healing')
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

const accountOf = ({ accounts }: ScheduleRun, { auth }: { auth: number }): Account => pick(accounts, auth)!

const idsOf = ({ accounts }: ScheduleRun): AccountId[] => accounts.map(({ id }) => id)

/** How each move is made. */
const MAKE: Makers<Move, ScheduleRun> = {
  go: ({ simulation }, { places }) => simulation.turns.release(places),
  ask: (run, { asks }) => ask(run, asks),
  deliver: ({ simulation }, { jobs, worker }) => deliver(simulation, jobs, worker),
  lapse: ({ simulation: { dispatch } }, { which }) => dispatch.lapse(pick(dispatch.active(), which)?.id as CallId),
  again: ({ simulation }, { which }) => simulation.dispatch.again(which),
  leave: (run, { which }) => leave(run, which),
  delete: (run, { which }) => remove(run, which),
  'overdue look': (run, { which }) => lookOverdue(run, which),
  die,
  'stop worker': ({ simulation }, { which }) => simulation.stopWorker(pick(simulation.liveWorkers(), which)),
  reconcile: ({ simulation }, { which }) => reconcile(simulation, which),
  'cut wire': ({ simulation }, { which }) => cutWire(simulation, which),
  flush: ({ simulation }) => simulation.flush(),
  'mend wire': ({ simulation }) => simulation.wire.mend(),
  'sweep grants': ({ db }) => expireGrants(db, 100),
  'change prices': ({ simulation }) => simulation.changePrices(),
  audit,
  pass: (run, { seconds, deadlines }) => run.simulation.pass(idsOf(run), seconds, deadlines),
  enqueue: ({ simulation }, { fate }) => (simulation.dispatch.fate = fate),
  grant: (run, move) => give(run.db, accountOf(run, move), move.amount),
  deduct: (run, move) => take(run.db, accountOf(run, move), move.amount),
  'expire grant': (run, move) =>
    run
      .db('grants')
      .where({ id: pick(accountOf(run, move).grants, move.amount)! })
      .update({ expires_at: run.db.raw('least(expires_at, now())') }),
  'pass minute': (run, move) => passMinute(run.db, accountOf(run, move)),
  'pass edge': (run, move) => passEdge(run.db, accountOf(run, move)),
  regroup: (run, move) => regroup(run.db, accountOf(run, move)),
  'revoke key': (run, move) =>
    run
      .db('api_keys')
      .where({ id: pick(accountOf(run, move).keyIds, move.auth >> 1)! })
      .update({ revoked_at: run.db.raw('coalesce(revoked_at, now())') }),
}

async function make(run: ScheduleRun, move: Move): Promise<void> {
  await MAKE[move.do](run, move as never)
  await run.simulation.turns.rest()
}

async function audit(run: ScheduleRun): Promise<void> {
  await expectBooksToBalance(run.db)
  await checkOutstanding(run)
}

function ask(run: ScheduleRun, asks: readonly Ask[]): void {
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
}

function send(run: ScheduleRun, web: Simulation['webs'][number], asked: Asked): Request {
  const { simulation, requests, prices } = run
  const request = new Request(simulation, web, asked)
  requests.push(request)
  prices.set(request, simulation.pricesFor(asked.account.group))
  return request
}

function deliver(simulation: Simulation, jobs: number, which: number): void {
  for (const id of simulation.dispatch.ready().slice(0, jobs)) {
    const worker = pick(simulation.liveWorkers(), which)
    if (worker) simulation.deliver(id, worker)
  }
}

/** Picks among the requests whose web process lives and has placed them. */
const pickPlaced = (
  { requests }: ScheduleRun,
  which: number,
  isMeant: (request: Request) => boolean = () => true,
): Request | undefined =>
  pick(
    requests.filter((request) => request.placed && request.web.process.alive && isMeant(request)),
    which,
  )

function leave(run: ScheduleRun, which: number): void {
  const request = pickPlaced(run, which, ({ left, outcome }) => !left && outcome.is === 'unknown')
  // An abandoned request can end in any way that its upstream allows. Its process may be killed meanwhile.
  request?.leave().catch(() => {})
}

function remove(run: ScheduleRun, which: number): void {
  const video = pickPlaced(run, which, ({ asked }) => asked.modality === 'video')
  // Its process may be killed meanwhile.
  video?.delete().catch((error: unknown) => run.simulation.dispatch.defects.push(error))
}

function lookOverdue(run: ScheduleRun, which: number): void {
  const request = pickPlaced(run, which)
  void request?.web.replies.endLost(request.callId, true)
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

function reconcile(simulation: Simulation, which: number): void {
  const worker = pick(simulation.liveWorkers(), which)
  if (worker) simulation.reconcile(worker)
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
  const { db, simulation } = run
  const ids = idsOf(run)
  simulation.dispatch.fate = 'taken'
  simulation.wire.mend()
  if (simulation.liveWorkers().length === 0) await simulation.addWorker()
  if (simulation.liveWebs().length === 0) await simulation.addWeb()
  for (let round = 0; ; round++) {
    for (const { id, holder } of simulation.dispatch.active()) if (!holder?.alive) simulation.dispatch.lapse(id)
    for (let effects = 0; effects === 0 || (effects < MAX_EFFECTS && simulation.turns.waiting().length > 0); effects++)
      await simulation.turns.releaseAll()
    deliver(simulation, 1000, round)
    await simulation.turns.rest()
    const isQuiet = simulation.turns.waiting().length === 0 && simulation.dispatch.ready().length === 0
    if (isQuiet && (await countOpen(db, ids)) === 0) break
    if (round % 3 === 2) await simulation.pass(ids, RUNNING_LEASE_SECONDS, round % 6 === 5)
    if (round % 3 === 2) reconcile(simulation, round)
    await simulation.turns.rest()
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
