import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilEnded } from '../../support/crash.ts'
import type { Installed } from '../../support/installed.ts'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { FAILPOINTS } from '../../../src/shared/platform/process/failpoints.ts'
import type { FailpointName } from '../../../src/shared/platform/process/failpoints.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Kind, Program } from '../../../scripts/harness/installation.ts'
import { seenWithin, until } from '../../../scripts/harness/until.ts'
import { callOnce } from '../clients.ts'
import { inSoak } from '../scale.ts'
import { checkOutcome } from './outcome.ts'
import { KINDS } from './requests.ts'
import type { Sent } from './requests.ts'

/** The settings of a storm. */
export type StormOptions = {
  /** How many processes are killed: with an undisturbed Redis, and then with one that is flushed now and then. */
  kills: { calm: number; forgetful: number }
  /** How many processes run at a time, all of which will kill themselves. */
  webs: number
  workers: number
  /** Requests in progress at a time. */
  clients: number
  /** Where the rotation of steps begins. */
  seed: number
  flush: () => Promise<unknown>
}

const WEB_STEPS = 'opening opened enqueuing enqueued answering deleted'.split(' ').map((step) => `call.${step}`)

/** Steps that only an orderly stop reaches. takeovers.test.ts kills the reconciler at steps of a web process. */
const ELSEWHERE = ['call.requeuing', 'call.requeued', ...WEB_STEPS]

/** The steps that a process of each kind reaches. */
const STEPS: Record<Kind, readonly string[]> = {
  web: WEB_STEPS,
  worker: (Object.keys(FAILPOINTS) as FailpointName[]).filter(
    (name) => !ELSEWHERE.includes(name) && !name.startsWith('payment.'),
  ),
}

/**
 * Keeps an installation under load while its processes kill themselves at one named step after another, and are
 * replaced at once. Then lets it come to rest, and checks its promises. Returns how many were killed, the steps at
 * which none was, and the calls.
 */
export async function storm(town: Installed, options: StormOptions) {
  const account = await anAccount(town.db, 100_000_000)
  // So wide that nothing is refused: what killed processes leave of them is in the books that are checked.
  await town.db.transaction((trx) => setLimitsOf(trx, account.id, { tokensPerMinute: 1_000_000_000 }))
  await changeKey(town.db, account.keyId, { tokensPerMinute: 1_000_000_000 })
  const storm = new Storm(town, account, options)
  await storm.rage()
  const sent = await storm.calm()
  const calls = await untilEnded(town.db, account.id)
  await expectBooksToBalance(town.db)
  await checkOutcome(town, storm.web()!.url, account, sent)
  const missed = (['web', 'worker'] as const).flatMap((kind) => storm.missing(kind).map((step) => `${kind} ${step}`))
  return { kills: storm.killed, missed, calls }
}

class Storm {
  killed = 0
  private readonly sent: Sent[] = []
  private webs: Program[] = []
  /** The steps at which a process of each kind was killed. */
  private readonly steps = { web: new Set<string>(), worker: new Set<string>() }
  private readonly turns: Record<Kind, number>
  private deletions = 0
  private raging = true
  private readonly town: Installed
  private readonly account: TestAccount
  private readonly options: StormOptions

  constructor(town: Installed, account: TestAccount, options: StormOptions) {
    this.town = town
    this.account = account
    this.options = options
    this.turns = { web: options.seed, worker: options.seed }
  }

  /** Runs until enough processes were killed, and with a Redis that is flushed until some were killed at every step. */
  async rage(): Promise<void> {
    const { webs, workers, clients, kills } = this.options
    const all = (many: number, one: (at: number) => Promise<void>) =>
      Array.from({ length: many }, (_one, at) => one(at))
    const going = [
      ...all(webs, () => this.keep('web')),
      ...all(workers, () => this.keep('worker')),
      ...all(clients, (at) => this.client(at)),
    ]
    const enough = kills.calm + kills.forgetful
    const isOver = () => this.killed >= enough && this.missing('web').length + this.missing('worker').length === 0
    try {
      const raged = until(`${kills.calm} kills`, () => this.killed >= kills.calm, LONGEST_MS)
      // A process that ends by itself ends the storm.
      await Promise.race([raged, Promise.all(going)])
      const endsAt = performance.now() + LONGEST_MS
      while (kills.forgetful > 0 && !isOver() && performance.now() < endsAt) await this.forget()
    } finally {
      this.raging = false
    }
    await Promise.all(going)
  }

  /** Those at which no process of a kind was killed yet. */
  missing(kind: Kind): string[] {
    return STEPS[kind].filter((name) => !this.steps[kind].has(name))
  }

  /**
   * Flushes Redis while an upstream works on a task, the only kind of job that the reconciler puts into its queue
   * again, and waits until that was done or several processes were killed.
   */
  private async forget(): Promise<void> {
    const running = this.town.db('calls').where({ account_id: this.account.id, status: 'running' })
    const task = running.whereNotNull('upstream_ref').first('id')
    await seenWithin(async () => await task.clone(), COLLECTED_MS)
    await this.options.flush()
    const enough = this.killed + KILLS_A_FLUSH
    const { calm, forgetful } = this.options.kills
    await seenWithin(() => this.killed >= enough && this.killed < calm + forgetful, COLLECTED_MS)
  }

  /** Sends every unanswered request again. Returns what was sent. */
  async calm(): Promise<Sent[]> {
    const waiting = this.sent.filter(({ reply }) => reply === null)
    const answer = async (): Promise<void> => {
      for (let one = waiting.shift(); one; one = waiting.shift()) one.reply = await this.ask(one, this.web()!.url)
    }
    await Promise.all(Array.from({ length: this.options.clients }, answer))
    return this.sent
  }

  /** One that lives, if there is one. */
  web(): Program | undefined {
    return this.webs.find(({ end }) => end === null)
  }

  /** Where a process kills itself next: at a step of which none has died yet, if there is one. */
  private nextStep(kind: Kind): { step: string; nth: number } {
    const missing = this.missing(kind)
    const all = missing.length > 0 ? missing : STEPS[kind]
    const turn = this.turns[kind]++
    const step = all[turn % all.length]!
    // A web process that is killed at its first call would leave the workers nothing to do. Deletions are rare.
    if (kind === 'web' && step !== 'call.deleted') return { step, nth: 5 + (turn % 11) }
    return { step, nth: missing.length > 0 ? 1 : 1 + (turn % 3) }
  }

  /** One place for a process: a killed one is replaced, at last by one that is not to be killed. */
  private async keep(kind: Kind): Promise<void> {
    while (this.raging) {
      const { step, nth } = this.nextStep(kind)
      const program = this.town.launch(kind, { crashAt: `${step}#${nth}` })
      await this.isUp(program)
      await seenWithin(() => !this.raging || program.end !== null, LONGEST_LIFE_MS)
      if (program.end === null) await program.kill()
      if (program.end?.signal !== 'SIGKILL') throw new Error(`${kind} ended by itself: ${program.log()}`)
      this.killed++
      // Perhaps before it was up: a new worker may run the reconciler first.
      if (program.steps.at(-1)?.name === step) this.steps[kind].add(step)
    }
    await this.isUp(this.town.launch(kind))
  }

  /** Waits until a process is up, or was killed before. */
  private async isUp(program: Program): Promise<void> {
    try {
      await program.up()
      if (program.kind === 'web') this.webs.push(program)
    } catch (error) {
      if (program.end?.signal !== 'SIGKILL') throw error
    }
  }

  private async client(at: number): Promise<void> {
    for (let nth = at; this.raging; nth++) {
      const kind = KINDS[nth % KINDS.length]!
      const [prompt, key] = [`storm ${randomUUID()}`, randomUUID()]
      const asked = { ...kind.ask(prompt), headers: { 'idempotency-key': key } }
      const one: Sent = { ...kind, prompt, key, asked, reply: null }
      this.sent.push(one)
      // An unanswered client asks any web process again with the same key.
      while (one.reply === null && this.raging) {
        const web = this.web()
        one.reply = web ? await this.ask(one, web.url) : null
        if (one.reply === null || !inSoak) await pause(50)
      }
    }
  }

  /** The answer to a request; null where none came, or where a video is not known to be deleted. */
  private async ask({ asked, isDeleted }: Sent, url: string): Promise<Reply | null> {
    const { reply } = await callOnce(url, this.account.key, asked)
    if (reply?.status !== 200 || !isDeleted) return reply
    await pause(DELETED_AFTER_MS * (this.deletions++ % 2))
    const deletion = send('DELETE', `${url}/v1/videos/${reply.json.id}`, { key: this.account.key })
    const status = await deletion.then((deleted) => deleted.status).catch(() => null)
    return status === 200 || status === 404 ? reply : null
  }
}

/** After so many ms, a process that has not reached its step is killed anyway. */
const LONGEST_LIFE_MS = 6000

/** How long a video is made before it is deleted, every other time, in ms. */
const DELETED_AFTER_MS = 500

/** The longest that a storm lasts with an undisturbed Redis, and with one that is flushed, in ms. */
const LONGEST_MS = 400_000

/** Within so many ms a lost task is collected: its lease expires before. */
const COLLECTED_MS = 25_000

/** The number of kills between two flushes of Redis. */
const KILLS_A_FLUSH = 8
