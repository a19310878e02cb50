import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { callsOf, untilEnded } from '../support/crash.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { PATIENCE_MS, until } from '../../scripts/harness/until.ts'
import type { Installation } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { chat, image, callOnce as ask, video } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** The promise is 10 s, on a machine that runs no other tests, as in the soak. */
const LONGEST_MS = inSoak ? 25_000 : PATIENCE_MS

const FROZEN_MS = inSoak ? 30_000 : 9000

/** The steps at which the reconciler puts a lost task into its queue again. */
const RECONCILER_STEPS = ['call.enqueuing', 'call.enqueued'] as const

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

describe('calls that a killed process left', function () {
  // All of them run at once: the first one waits for the processes of all.
  this.timeout(180_000)
  let sandbox: Sandbox
  const installations: Installation[] = []
  const running: Record<string, Promise<void>> = {}

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.5, imageSeconds: 0.05 })
    for (const [title, play] of Object.entries(scenarios)) {
      running[title] = play()
      // Its test awaits it later.
      running[title].catch(() => {})
    }
  })
  after(async () => {
    await Promise.all(installations.map((installation) => installation.end()))
    await sandbox.close()
  })

  const newInstallation = async (
    ...given: Parameters<typeof install> extends [unknown, ...infer Rest] ? Rest : never
  ): Promise<Installation> => {
    const installation = await install(sandbox, ...given)
    installations.push(installation)
    return installation
  }

  const scenarios: Record<string, () => Promise<void>> = {
    'are refunded within 10 s when their web process is killed before it enqueues them, else run': async () => {
      const installation = await newInstallation()
      const [before, behind, next] = await Promise.all([
        installation.start('web', { crashAt: 'call.opened' }),
        installation.start('web', { crashAt: 'call.enqueued' }),
        installation.start('web'),
        installation.start('worker'),
      ])
      const headers = { 'idempotency-key': 'once' }
      const [charged, enqueued] = [await anAccount(installation.db, 100), await anAccount(installation.db, 100)]
      expect((await ask(before.url, charged.key, { ...image('charged'), headers })).status).to.equal(0)
      expect((await ask(behind.url, enqueued.key, { ...image('enqueued'), headers })).status).to.equal(0)

      const again = await ask(next.url, enqueued.key, { ...image('enqueued'), headers })
      expect(again.status, again.reply?.text).to.equal(200)
      expect(again.reply!.headers.get('idempotent-replayed')).to.equal('true')
      expect([await balanceOf(installation.db, enqueued.id), sandbox.billed('enqueued').total]).to.deep.equal([60, 1])

      const [call] = await untilEnded(installation.db, charged.id, LONGEST_MS)
      const tookMs = call!.finished_at!.getTime() - (await before.ended).at
      expect(call).to.include({ status: 'failed', credits: 0, credits_precharged: 40, attempts: 0 })
      const retried = await ask(next.url, charged.key, { ...image('charged'), headers })
      expect(retried.status, 'the answer under its key').to.equal(502)
      expect([await balanceOf(installation.db, charged.id), sandbox.billed('charged').total]).to.deep.equal([100, 0])
      await expectBooksToBalance(installation.db)
      report(`web killed between charge and enqueue: refunded after ${seconds(tookMs)}`)
    },

    'are collected once if their job is lost, even if the reconciler is killed meanwhile': async () => {
      const redis = await startPrivateRedis()
      const installation = await newInstallation({}, { redisUrl: redis.url })
      const [web, first] = await Promise.all([installation.start('web'), installation.start('worker')])
      const account = await anAccount(installation.db, 1000)
      const asked = ask(web.url, account.key, video('collected again [duration 1]'))
      await first.reaches('task.persisted')
      await first.kill()
      await flushAll(redis.url)
      for (const crashAt of RECONCILER_STEPS) {
        const reconciler = installation.launch('worker', { crashAt, WORKER_QUEUES: 'maintenance' })
        expect((await reconciler.ended).signal).to.equal('SIGKILL')
        expect(reconciler.steps.at(-1)?.name).to.equal(crashAt)
      }
      await installation.start('worker')
      const outcome = await asked
      expect(outcome.status, outcome.reply?.text).to.equal(200)
      expect(sandbox.billed('collected again').total, 'submissions that were billed').to.equal(1)
      expect(await balanceOf(installation.db, account.id)).to.equal(750)
      await expectBooksToBalance(installation.db)
      await redis.stop()
      report(`task whose job was lost, its reconciler killed twice: answered after ${seconds(outcome.ms)}`)
    },

    'are ended once when a frozen worker resumes after another has taken its calls': async () => {
      const installation = await newInstallation()
      const [web, frozen] = await Promise.all([installation.start('web'), installation.start('worker')])
      const account = await anAccount(installation.db, 1000)
      const asked = [chat('frozen chat [hold]'), image('frozen image [hold]')].map((one) =>
        ask(web.url, account.key, one),
      )
      await until('both to be with the upstream', () => sandbox.billed('frozen').total === 2)
      frozen.signal('SIGSTOP')
      const frozenAt = performance.now()
      const other = await installation.start('worker')
      await until('the chat to be sent again', () => sandbox.billed('frozen chat').total === 2, LONGEST_MS)
      sandbox.release('frozen')
      const calls = await untilEnded(installation.db, account.id, LONGEST_MS)
      const tookMs = performance.now() - frozenAt
      await until("the frozen worker's time to be over", () => performance.now() - frozenAt > FROZEN_MS, 2 * FROZEN_MS)
      frozen.signal('SIGCONT')
      const outcomes = await Promise.all(asked)
      // The other worker has sent the chat again; a second image could have been billed again.
      expect(outcomes.map(({ status }) => status)).to.deep.equal([200, 502])
      await other.stop()
      const after = await ask(web.url, account.key, chat('after the frost'))
      expect(after.status, `the worker that was frozen works on: ${after.reply?.text}`).to.equal(200)
      expect((await callsOf(installation.db, account.id)).slice(0, 2), 'what had ended stays as it was').to.deep.equal(
        calls,
      )
      expect(sandbox.billed('frozen chat').total).to.equal(2)
      expect(sandbox.billed('frozen image').total).to.equal(1)
      await expectBooksToBalance(installation.db)
      report(`worker frozen for ${seconds(FROZEN_MS)}: its calls ended after ${seconds(tookMs)}, once`)
    },
  }
  for (const title of Object.keys(scenarios)) it(title, () => running[title])
})

async function flushAll(url: string): Promise<void> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url)
  await redis.flushall()
  redis.disconnect()
}
