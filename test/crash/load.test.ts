import { expect } from 'chai'
import { callsOf, untilEnded } from '../support/crash.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { useInstallation } from '../support/installed.ts'
import { chat, medianOf, statuses, callOnce as ask } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** Calls of the flooding account. */
const FLOOD = inSoak ? 400 : 100

/** How many chats the worker has in progress at a time. */
const CONCURRENCY = 40

/** How long the upstream takes for a call of the other account, in ms. */
const BESIDE_MS = 150

/** How many calls of the other account are measured at a time. */
const MEASURED = 7

/** Calls in progress when both processes are stopped. */
const IN_FLIGHT = 50

describe('a gateway under load', function () {
  // The flood takes up to a minute of its upstream's time.
  this.timeout(240_000)
  const town = useInstallation({ CHAT_CONCURRENCY: String(CONCURRENCY) }, { imageSeconds: 0.05 })
  let web: Program
  let worker: Program

  before(async () => {
    ;[web, worker] = await Promise.all([town.start('web'), town.start('worker')])
  })

  it(`serves an account long before ${FLOOD} waiting calls of another`, async () => {
    const [flooder, other] = [await anAccount(town.db, 1_000_000), await anAccount(town.db, 1_000_000)]
    const measure = async (): Promise<number> => {
      const times: number[] = []
      for (let nth = 0; nth < MEASURED; nth++)
        times.push((await ask(web.url, other.key, chat(`beside [delay ${BESIDE_MS}]`))).ms)
      return medianOf(times)
    }
    const idle = await measure()
    // What a call takes of this machine decides how long the flood's take: it must neither be over before the other
    // account is measured beside it, nor keep a slow machine busy.
    const delay = Math.min(3500, Math.max(1000, Math.round(40 * (idle - BESIDE_MS))))
    // Half of it to one and a half: those that begin together end one after the other, not all at once.
    const delayOf = (nth: number): number => Math.round(delay * (0.5 + (nth % CONCURRENCY) / CONCURRENCY))
    const sent = Array.from({ length: FLOOD }, (_one, nth) =>
      ask(web.url, flooder.key, { ...chat(`flood [delay ${delayOf(nth)}]`), headers: { prefer: 'respond-async' } }),
    )
    const accepted = await Promise.all(sent)
    expect(statuses(accepted), accepted.find(({ status }) => status !== 202)?.error).to.equal(`${FLOOD} × 202`)
    const beside = await measure()
    const waiting = (await callsOf(town.db, flooder.id)).filter(({ status }) => status === 'queued').length
    report(
      `idle ${Math.round(idle)} ms, ` +
        `beside ${waiting} waiting calls of another account ${Math.round(beside)} ms (median)`,
    )
    expect(waiting, 'the flood still waits').to.be.above(0)
    const flood = await untilEnded(town.db, flooder.id, 120_000)
    const besides = (await callsOf(town.db, other.id)).slice(-MEASURED)
    const overtaken = besides.map(
      ({ created_at, finished_at }) =>
        flood.filter((one) => one.finished_at! > created_at && one.finished_at! < finished_at!).length,
    )
    expect(medianOf(overtaken), 'calls of the flood that ended meanwhile').to.be.below(FLOOD / 4)
    // The machine may have become busier since the first measurement.
    if (inSoak)
      expect(beside, 'ms beside the flood, of at most three times those without').to.be.below(
        3 * Math.max(idle, await measure()),
      )
  })

  it(`answers all ${IN_FLIGHT} calls in progress when both processes are asked to stop`, async () => {
    const accounts = [await anAccount(town.db, 1_000_000), await anAccount(town.db, 1_000_000)] as const
    // The soak has some that take longer than a stopping process waits: they are answered 202, and continue elsewhere.
    const asked = Array.from({ length: IN_FLIGHT }, (_one, nth) => {
      const words = `stopping [delay ${inSoak && nth % 10 === 0 ? 28_000 : 1500}]`
      return ask(web.url, accounts[nth % 2]!.key, chat(words))
    })
    await until('all are sent', () => town.sandbox.billed('stopping').total === IN_FLIGHT)
    await town.start('worker')
    const startedAt = performance.now()
    const [ends, outcomes] = await Promise.all([Promise.all([web.stop(), worker.stop()]), Promise.all(asked)])
    report(
      `stopped with ${IN_FLIGHT} calls in progress: ${statuses(outcomes)}, ` +
        `gone after ${Math.round(performance.now() - startedAt)} ms`,
    )
    expect(ends.map(({ code }) => code)).to.deep.equal([0, 0])
    const wrong = outcomes.filter(({ status }) => status !== 200 && status !== 202)
    expect(wrong, statuses(outcomes)).to.deep.equal([])
    for (const { id } of accounts)
      expect((await untilEnded(town.db, id)).map(({ status }) => status)).to.deep.equal(
        Array.from({ length: IN_FLIGHT / 2 }, () => 'succeeded'),
      )
  })
})
