import { expect } from 'chai'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { createWebhook } from '../../src/shared/webhooks/webhooks.ts'
import { callsOf, loseRedis, untilEnded } from '../support/crash.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { FailpointName } from '../../src/shared/platform/process/failpoints.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { PATIENCE_MS, until } from '../../scripts/harness/until.ts'
import { useInstallation } from '../support/installed.ts'
import type { Installed } from '../support/installed.ts'
import { startReceiver } from '../support/webhooks.ts'
import { startStream } from '../upstreams/support/streams.ts'
import { aFundedAccount, everyProtocol } from '../upstreams/support/targets.ts'
import { chat, image, callOnce as ask, ranking, video } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** The promise is 10 s, on a machine that runs no other tests, as in the soak. */
const LONGEST_MS = inSoak ? 25_000 : PATIENCE_MS

/** How long a worker is frozen at least: until another has taken its calls, and in the soak much longer. */
const FROZEN_MS = inSoak ? 30_000 : 0

/** The steps at which a reconciler that puts a lost task into its queue again is killed. */
const RECONCILER_STEPS = inSoak ? (['call.enqueuing', 'call.enqueued'] as const) : (['call.enqueued'] as const)

const OPENAI = { protocol: 'openai', modality: 'chat' } as const

const FUNDS = 1000

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const workerOf = (...queues: string[]) => ({ WORKER_QUEUES: queues.join(',') })

describe('calls that a killed process left', function () {
  // All of them run at once: the first one waits for the processes of all.
  this.timeout(180_000)
  const speed = { videoSeconds: 0.5, imageSeconds: 0.05 }
  /** The scenarios in it have queues of their own. */
  const town = useInstallation({}, speed, everyProtocol, 'any')
  /** Its Redis loses everything. */
  const forgetful = useInstallation({ WEBHOOK_ALLOW_PRIVATE: 'on' }, speed, everyProtocol, 'any')
  let web: Program
  const running: Record<string, Promise<void>> = {}

  before(async () => {
    web = await town.start('web')
    for (const [title, play] of Object.entries(scenarios)) {
      running[title] = play()
      // Its test awaits it later.
      running[title].catch(() => {})
    }
  })

  const funded = ({ db }: Installed = town) => anAccount(db, FUNDS)

  /** Launches a worker that kills itself at a failpoint, and waits until it has. */
  async function dies(place: Installed, crashAt: FailpointName, queue: string): Promise<void> {
    const worker = place.launch('worker', { ...workerOf(queue), crashAt })
    await until(`a worker to die at ${crashAt}`, () => worker.end)
    expect([worker.end!.signal, worker.steps.at(-1)?.name]).to.deep.equal(['SIGKILL', crashAt])
  }

  const scenarios: Record<string, () => Promise<void>> = {
    'are refunded within 10 s when their web process is killed before it enqueues them, else run': async () => {
      const [before, behind] = await Promise.all([
        town.start('web', { crashAt: 'call.opened' }),
        town.start('web', { crashAt: 'call.enqueued' }),
        town.start('worker', workerOf('video', 'maintenance')),
      ])
      const headers = { 'idempotency-key': 'once' }
      const [charged, enqueued] = [await funded(), await funded()]
      expect((await ask(before.url, charged.key, { ...video('charged'), headers })).status).to.equal(0)
      expect((await ask(behind.url, enqueued.key, { ...video('enqueued'), headers })).status).to.equal(0)

      const again = await ask(web.url, enqueued.key, { ...video('enqueued'), headers })
      expect(again.status, again.reply?.text).to.equal(200)
      expect(again.reply!.headers.get('idempotent-replayed')).to.equal('true')
      expect([await balanceOf(town.db, enqueued.id), town.sandbox.billed('enqueued').total]).to.deep.equal([750, 1])

      const [call] = await untilEnded(town.db, charged.id, LONGEST_MS)
      const tookMs = call!.finished_at!.getTime() - (await before.ended).at
      expect(call).to.include({ status: 'failed', credits: 0, credits_precharged: 250, attempts: 0 })
      const retried = await ask(web.url, charged.key, { ...video('charged'), headers })
      expect(retried.status, 'the answer under its key').to.equal(502)
      expect([await balanceOf(town.db, charged.id), town.sandbox.billed('charged').total]).to.deep.equal([FUNDS, 0])
      report(`web killed between charge and enqueue: refunded after ${seconds(tookMs)}`)
    },

    'are collected, or paid as far as they were read, and told of, once, if all workers die and Redis loses all':
      async () => {
        const { db, config, sandbox, start } = forgetful
        let hangs = true
        const receiver = await startReceiver((response) => {
          if (!hangs) response.writeHead(204).end()
        })
        const [{ url }, first] = await Promise.all([start('web'), start('worker', workerOf('chat', 'image', 'video'))])
        const [account, told, reader] = [
          await funded(forgetful),
          await funded(forgetful),
          await aFundedAccount(forgetful),
        ]
        const hook = { url: receiver.url, types: ['call.succeeded' as const] }
        await createWebhook(db, createSecretBox(config), told.id, hook)
        const read = await startStream({ url }, reader, OPENAI, 'read [tokens 60] [hang-after 20]')
        await until('all words', () => read.content().split(' ').length >= 20)
        const asked = ask(url, account.key, video('collected again [hold]'))
        expect((await ask(url, told.key, image('the cause of an event'))).status).to.equal(200)
        await first.reaches('task.persisted')
        // Killed when nobody has been told yet.
        await first.kill()
        const teller = await start('worker', workerOf('webhooks', 'maintenance'))
        await until('the receiver is asked', () => receiver.received.length > 0)
        // Killed when the receiver has the event, and has not answered.
        await teller.kill()
        await loseRedis(config)
        hangs = false
        // What a claim of a minute ends by itself.
        await db('webhook_deliveries').where({ status: 'sending' }).update({ next_try_at: db.fn.now() })
        for (const step of RECONCILER_STEPS) await dies(forgetful, step, 'maintenance')
        sandbox.release('collected again')
        await start('worker')
        const outcome = await asked
        expect(outcome.status, outcome.reply?.text).to.equal(200)
        expect(sandbox.billed('collected again').total, 'submissions that were billed').to.equal(1)
        expect(await balanceOf(db, account.id)).to.equal(FUNDS - 250)
        await read.ended
        expect(read.last(), read.text()).to.equal('[DONE]')
        const words = Math.ceil(Buffer.byteLength(read.content()) / 3)
        expect(read.chunks().at(-1)!.usage, 'as much of the stream as was delivered').to.include({
          output_tokens: words,
        })
        expect(sandbox.billed('read').total).to.equal(1)
        await until('the event is delivered', async () =>
          (await db('webhook_deliveries')).every((row: { status: string }) => row.status === 'delivered'),
        )
        const events = receiver.received.map(({ body, headers }) => [body, headers['webhook-id']])
        expect(events).to.deep.equal([events[0], events[0]])
        await receiver.stop()
        report(`task whose job was lost, its reconciler killed: answered after ${seconds(outcome.ms)}`)
      },

    'are ended once when a frozen worker resumes after another has taken its calls': async () => {
      const { db, sandbox } = town
      const frozen = await town.start('worker', workerOf('chat', 'rerank'))
      const account = await funded()
      const asked = [chat('frozen chat [hold]'), ranking('frozen ranking [hold]')].map((one) =>
        ask(web.url, account.key, one),
      )
      await until('both to be with the upstream', () => sandbox.billed('frozen').total === 2)
      frozen.signal('SIGSTOP')
      const frozenAt = performance.now()
      const other = await town.start('worker', workerOf('chat', 'rerank'))
      await until('the chat to be sent again', () => sandbox.billed('frozen chat').total === 2, LONGEST_MS)
      sandbox.release('frozen')
      const calls = await untilEnded(db, account.id, LONGEST_MS)
      const tookMs = performance.now() - frozenAt
      await until("the frozen worker's time to be over", () => performance.now() - frozenAt > FROZEN_MS)
      frozen.signal('SIGCONT')
      const outcomes = await Promise.all(asked)
      // The other worker has sent the chat again; a second ranking could have been billed again.
      expect(outcomes.map(({ status }) => status)).to.deep.equal([200, 502])
      await other.stop()
      const after = await ask(web.url, account.key, chat('after the frost'))
      expect(after.status, `the worker that was frozen works on: ${after.reply?.text}`).to.equal(200)
      expect((await callsOf(db, account.id)).slice(0, 2), 'what had ended stays as it was').to.deep.equal(calls)
      expect(sandbox.billed('frozen chat').total).to.equal(2)
      expect(sandbox.billed('frozen ranking').total).to.equal(1)
      report(`frozen worker: its calls ended after ${seconds(tookMs)}, once`)
    },

    'are refunded at the second death, before or after a begin, and never tried a third time; a stop is none':
      async () => {
        const account = await funded()
        const body = { model: 'fal-image', prompt: 'ends its workers [hold]' }
        const asked = ask(web.url, account.key, { path: 'images/generations', body })
        await dies(town, 'call.beginning', 'image')
        const stopped = await town.start('worker', workerOf('image'))
        await stopped.reaches('task.polled')
        expect((await stopped.stop()).code).to.equal(0)
        await dies(town, 'task.polling', 'image')
        const last = await town.start('worker', workerOf('image'))
        const { status, reply } = await asked
        expect(status, reply?.text).to.equal(500)
        expect(reply!.json.error).to.include({ type: 'internal_error' })
        expect(reply!.json.error.message).to.match(/Two workers failed/)
        const steps = last.steps.filter(({ name }) => name === 'upstream.sending' || name === 'task.polling')
        expect(steps, last.log()).to.deep.equal([])
        const calls = await callsOf(town.db, account.id)
        // The worker that stopped has given its attempt back.
        expect(calls.map((one) => [one.status, one.attempts])).to.deep.equal([['failed', 2]])
        expect(await balanceOf(town.db, account.id)).to.equal(FUNDS)
      },
  }
  for (const title of Object.keys(scenarios)) it(title, () => running[title])
})
