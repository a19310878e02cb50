import { randomUUID } from 'node:crypto'
import type { Sandbox } from '../../../sandbox/server.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilEnded } from '../../support/crash.ts'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { post, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Installation, Kind, Program } from '../../../scripts/harness/installation.ts'
import { seenWithin } from '../../../scripts/harness/until.ts'
import { inSoak } from '../scale.ts'
import { checkOutcome } from './outcome.ts'
import { KINDS } from './requests.ts'
import type { Sent } from './requests.ts'
import { stepsOf } from './steps.ts'

/** The settings of a storm. */
export type StormOptions = {
  kills: number
  /** How many processes run at a time, all of which will kill themselves. */
  webs: number
  workers: number
  /** Requests in progress at a time. */
  clients: number
  /** Where the rotation of steps begins. */
  seed: number
  /** The steps at which processes were killed, by kind, also in an earlier storm. */
  steps: Set<string>
  /** Flushes Redis; called now and then. */
  flush?: () => Promise<void>
}

/**
 * Keeps an installation under load while its processes kill themselves at one named step after another, and are
 * replaced at once. Then lets it come to rest, and checks its promises. Returns how many were killed, and what became
 * of the calls.
 */
export async function storm(town: Installation, sandbox: Sandbox, options: StormOptions) {
  const account = await anAccount(town.db, 100_000_000)
  // So wide that nothing is refused: what killed processes leave of them is in the books that are checked.
  await town.db.transaction((trx) => setLimitsOf(trx, account.id, { tokensPerMinute: 1_000_000_000 }))
  await changeKey(town.db, account.keyId, { tokensPerMinute: 1_000_000_000 })
  const storm = new Storm(town, account, options)
  await storm.rage()
  const sent = await storm.calm()
  const calls = await untilEnded(town.db, account.id)
  await expectBooksToBalance(town.db)
  await checkOutcome(town, storm.webUrl(), account, sandbox, sent)
  return {
    kills: storm.dead.length,
    calls: calls.length,
    succeeded: calls.filter(({ status }) => status === 'succeeded').length,
  }
}

/** Where a request is sent: Gemini's API has paths of its own. */
const addressOf = (url: string, { path }: Pick<Sent, 'path'>): string =>
  `${url}/${path.startsWith('models/') ? 'v1beta' : 'v1'}/${path}`

class Storm {
  readonly dead: Program[] = []
  private readonly sent: Sent[] = []
  readonly live: Record<Kind, Program[]> = { web: [], worker: [] }
  private readonly planned: Record<Kind, number>
  private deletions = 0
  raging = true
  private readonly town: Installation
  private readonly account: TestAccount
  private readonly options: StormOptions

  constructor(town: Installation, account: TestAccount, options: StormOptions) {
    this.town = town
    this.account = account
    this.options = options
    this.planned = { web: options.seed, worker: options.seed }
  }

  /** Runs until enough processes were killed. */
  async rage(): Promise<void> {
    const { webs, workers, clients, kills, flush } = this.options
    const slots = [
      ...Array.from({ length: webs }, () => this.keep('web')),
      ...Array.from({ length: workers }, () => this.keep('worker')),
    ]
    const load = Array.from({ length: clients }, (_one, at) => this.client(at))
    for (let flushes = 0; this.dead.length < kills; await pause(50)) {
      // Without lost jobs the reconciler would have nothing to do at which it could be killed.
      if (flush && this.dead.length > flushes * FLUSH_EVERY_KILLS + FLUSH_EVERY_KILLS / 2) {
        flushes++
        await this.lose(flush)
      }
    }
    if (flush) await this.continueThroughFlush(flush)
    this.raging = false
    await Promise.all(slots)
    await Promise.all(load)
  }

  /**
   * Continues for the steps at which no process was killed yet: a lost task is collected only when its lease has
   * expired.
   */
  private async continueThroughFlush(flush: () => Promise<void>): Promise<void> {
    const all = stepsOf('web').length + stepsOf('worker').length
    const startedAt = performance.now()
    for (
      let flushes = 0;
      this.options.steps.size < all && performance.now() - startedAt < OVERTIME_MS;
      await pause(50)
    ) {
      if (performance.now() - startedAt < flushes * OVERTIME_FLUSH_MS) continue
      flushes++
      await this.lose(flush)
    }
  }

  /**
   * Flushes Redis while an upstream works on a task, the only kind of job that a worker puts into its queue again.
   */
  private async lose(flush: () => Promise<void>): Promise<void> {
    const task = this.town
      .db('calls')
      .where({ account_id: this.account.id, status: 'running' })
      .whereNotNull('upstream_ref')
      .first('id')
    await seenWithin(async () => await task.clone(), OVERTIME_FLUSH_MS)
    await flush()
  }

  /** Sends every unanswered request again. Returns what was sent. */
  async calm(): Promise<Sent[]> {
    const waiting = this.sent.filter(({ reply }) => reply === null)
    await Promise.all(
      Array.from({ length: this.options.clients }, async () => {
        for (let one = waiting.shift(); one; one = waiting.shift()) one.reply = await this.ask(one, this.webUrl())
      }),
    )
    return this.sent
  }

  webUrl(): string {
    return this.liveWeb()!.url
  }

  liveWeb(): Program | undefined {
    return this.live.web.find(({ end }) => end === null)
  }

  /** One place for a process: a killed one is replaced, at last by one that is not to be killed. */
  private async keep(kind: Kind): Promise<void> {
    for (;;) {
      // Steps at which no process was killed yet come first.
      const missing = stepsOf(kind).filter((name) => !this.options.steps.has(`${kind} ${name}`))
      const all = missing.length > 0 ? missing : stepsOf(kind)
      const turn = this.planned[kind]++
      const step = all[turn % all.length]!
      // A web process that is killed at its first call would leave the workers nothing to do. Deletions are rare.
      const nth = kind === 'web' && step !== 'call.deleted' ? 5 + (turn % 11) : missing.length > 0 ? 1 : 1 + (turn % 3)
      const crashAt = this.raging ? `${step}#${nth}` : ''
      const program = this.town.launch(kind, { crashAt })
      if ((await this.isUp(program)) && crashAt === '') return
      await seenWithin(() => !this.raging || program.end !== null, LONGEST_LIFE_MS)
      if (program.end === null) await program.kill()
      if (program.end?.signal !== 'SIGKILL') throw new Error(`${kind} ended by itself: ${program.log()}`)
      this.live[kind] = this.live[kind].filter((one) => one !== program)
      this.dead.push(program)
      // Perhaps before it was up: a new worker may run the reconciler first.
      if (program.steps.at(-1)?.name === step) this.options.steps.add(`${kind} ${step}`)
    }
  }

  /** Waits until a process is up; false for one that was killed before. */
  private async isUp(program: Program): Promise<boolean> {
    try {
      await program.up()
      this.live[program.kind].push(program)
      return true
    } catch (error) {
      if (program.end?.signal !== 'SIGKILL') throw error
      return false
    }
  }

  private async client(at: number): Promise<void> {
    for (let nth = at; this.raging; nth++) {
      const kind = KINDS[nth % KINDS.length]!
      const prompt = `storm ${randomUUID()}`
      const one: Sent = { ...kind, prompt, key: randomUUID(), sends: kind.body(prompt), reply: null }
      this.sent.push(one)
      // An unanswered client asks any web process again with the same key.
      while (one.reply === null && this.raging) {
        const web = this.liveWeb()
        one.reply = web ? await this.ask(one, web.url).catch(() => null) : null
        if (one.reply === null || !inSoak) await pause(50)
      }
    }
  }

  private async ask(one: Sent, url: string): Promise<Reply> {
    const reply = await post(addressOf(url, one), this.account.key, one.sends, { 'idempotency-key': one.key })
    if (one.isDeleted && reply.status === 200) await this.remove(reply, url)
    return reply
  }

  /** Deletes a video. @throws where that is not known to be done: its client asks again with its key. */
  private async remove({ json }: Reply, url: string): Promise<void> {
    await pause(DELETED_AFTER_MS * (this.deletions++ % 2))
    const { status, text } = await send('DELETE', `${url}/v1/videos/${json.id}`, { key: this.account.key })
    if (status !== 200 && status !== 404) throw new Error(`not deleted: ${status} ${text}`)
  }
}

/** After so many ms, a process that has not reached its step is killed anyway. */
const LONGEST_LIFE_MS = 6000

/** How long a video is made before it is deleted, every other time, in ms. */
const DELETED_AFTER_MS = 500

/** The number of kills between two flushes of Redis. */
const FLUSH_EVERY_KILLS = 8

/** How long to continue for the last steps, and how often Redis is flushed meanwhile, in ms. */
const OVERTIME_MS = 100_000
const OVERTIME_FLUSH_MS = 25_000

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
