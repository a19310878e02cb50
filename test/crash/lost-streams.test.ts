import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { hasEnded } from '../../src/shared/terms/lifecycle.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { until } from '../../scripts/harness/until.ts'
import { startStream } from '../upstreams/support/streams.ts'
import type { ChatStream } from '../upstreams/support/streams.ts'
import { FUNDS, PRICES, aFundedAccount, ask, everyProtocol } from '../upstreams/support/targets.ts'
import type { Asking } from '../upstreams/support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const

/** A stream that falls silent in the middle of its answer. */
const SILENT = '[tokens 60] [hang-after 20]'

/** Until the queue has missed a worker, its web process has had its time, and a refund was made; in ms. */
const LONGEST_MS = 45_000

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)

describe('a stream whose worker is killed', () => {
  let sandbox: Sandbox
  const installations: Installation[] = []
  const closing: (() => Promise<unknown>)[] = []
  // They mostly wait, and so go on side by side; each test awaits its own.
  let scenes: {
    killed: ReturnType<typeof killed>
    dyingWebs: ReturnType<typeof dyingWebs>
    deserted: ReturnType<typeof deserted>
  }

  before(async () => {
    sandbox = await createSandbox({})
    scenes = { killed: killed(), dyingWebs: dyingWebs(), deserted: deserted() }
    for (const scene of Object.values(scenes)) scene.catch(() => {})
  })
  after(async () => {
    await Promise.all(installations.map((installation) => installation.end()))
    await Promise.all(closing.map((close) => close()))
    await sandbox.close()
  })

  const newInstallation = async (redisUrl?: string): Promise<Installation> => {
    const installation = await install(sandbox, {}, redisUrl === undefined ? {} : { redisUrl }, everyProtocol)
    installations.push(installation)
    return installation
  }

  it('is paid as far as it was delivered, whoever reads, joins or has left it', async () => {
    const { installation, web, read, account, joined, left, leaving } = await scenes.killed
    await expectWhole(installation, read)
    const kept = await get(`${web.url}/v1/calls/${read.headers.get('x-call-id')}`, account.key)
    expect(kept.json.choices[0]).to.deep.include({ finish_reason: 'length' })
    expect(kept.json.choices[0].message.content).to.equal(read.content())
    expect(kept.json.usage).to.deep.equal(read.chunks().at(-1)!.usage)
    expect((await joined).json).to.deep.equal(kept.json)
    expect(await balanceOf(installation.db, account.id)).to.equal(FUNDS - kept.json.usage.credits)
    const record = await endOf(installation, left)
    expectPaid(record, left)
    expect(await balanceOf(installation.db, leaving.id)).to.equal(FUNDS - record.credits)
    await expectBooksToBalance(installation.db)
  })

  it('is refunded if nothing of it was delivered', async () => {
    const { installation, asked, waiting } = await scenes.killed
    const { ended, text } = await asked
    await ended
    expect(text()).to.match(/worker was lost/)
    await expectRefund(installation, waiting)
  })

  it('is refunded if its web process is killed too', async () => {
    const { installation, bereft } = await scenes.killed
    await expectRefund(installation, bereft)
  })

  it('is refunded if its web process dies before it has settled it', async () => {
    const { installation, unsettled } = await scenes.dyingWebs
    await expectRefund(installation, unsettled.account)
  })

  it('is settled once if its web process dies right after that', async () => {
    const {
      installation,
      web,
      settled: { account, stream },
    } = await scenes.dyingWebs
    const record = await endOf(installation, stream)
    expectPaid(record, stream)
    const kept = await get(`${web.url}/v1/calls/${stream.headers.get('x-call-id')}`, account.key)
    expect(kept.json.usage).to.include({ credits: record.credits, balance: FUNDS - record.credits })
    await expectBooksToBalance(installation.db)
  })

  it('is paid at its deadline if no worker is left', async () => {
    const { installation, hasty } = await scenes.deserted
    await expectWhole(installation, hasty)
  })

  it('is paid if Redis is flushed as well', async () => {
    const { installation, stream } = await scenes.deserted
    await expectWhole(installation, stream)
    await expectBooksToBalance(installation.db)
  })

  /** Begins a stream and reads its first 20 words. */
  async function begun(
    web: Program,
    account: TestAccount,
    asking: Asking = {},
    prompt = prompted(SILENT),
  ): Promise<ChatStream> {
    const stream = await startStream(web, account, openai, prompt, asking)
    await until('all words', () => stream.content().split(' ').length >= 20)
    return stream
  }

  /** The record of a stream's call, once it has ended. */
  async function endOf({ db }: Installation, stream: ChatStream): Promise<CallRecord> {
    const id = parseId('call', stream.headers.get('x-call-id')!)!
    return await until(
      'its end',
      async () => {
        const record = await findRecord(db, id)
        return record && hasEnded(record.status) ? record : null
      },
      LONGEST_MS,
    )
  }

  /** Expects a record of a call that is paid by the words that its reader got. */
  function expectPaid({ status, outputTokens, inputTokens, credits }: CallRecord, stream: ChatStream): void {
    expect([status, outputTokens]).to.deep.equal(['succeeded', tokensOf(stream.content())])
    expect(credits).to.equal(Math.ceil((inputTokens! * PRICES.input + outputTokens! * PRICES.output) / 10))
  }

  /** Expects a stream that ended as one that we cut, and was paid so far. */
  async function expectWhole(installation: Installation, stream: ChatStream): Promise<void> {
    await stream.ended
    expect(stream.last(), stream.text()).to.equal('[DONE]')
    expect(stream.chunks().flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).to.deep.equal(['length'])
    const record = await endOf(installation, stream)
    expectPaid(record, stream)
    expect(stream.chunks().at(-1)!.usage).to.include({ credits: record.credits, output_tokens: record.outputTokens })
  }

  /** A worker and one of two web processes are killed. */
  async function killed() {
    const installation = await newInstallation()
    const [web, other, victim] = await Promise.all([
      installation.start('web'),
      installation.start('web'),
      installation.start('worker'),
    ])
    const [account, leaving, waiting, bereft] = (await Promise.all(
      [1, 2, 3, 4].map(() => aFundedAccount(installation)),
    )) as [TestAccount, TestAccount, TestAccount, TestAccount]
    const keyed = { headers: { 'idempotency-key': 'joined' } }
    const [prompt, hanging] = [prompted(SILENT), prompted('[hang]')]
    const asked = startStream(web, waiting, openai, hanging)
    const [read, left] = await Promise.all([
      begun(web, account, keyed, prompt),
      begun(web, leaving),
      begun(other, bereft),
      until('the upstream to have the silent one', () => sandbox.billed(hanging).total === 1),
    ])
    const joined = ask(web, account, openai, prompt, keyed)
    await Promise.all([victim.kill(), other.kill()])
    left.leave()
    await installation.start('worker')
    return { installation, web, read, account, joined, left, leaving, asked, waiting, bereft }
  }

  /** A worker is killed, and two web processes at a step of settling its streams. */
  async function dyingWebs() {
    const installation = await newInstallation()
    const [first, second, web, victim] = await Promise.all([
      installation.start('web', { crashAt: 'call.settling' }),
      installation.start('web', { crashAt: 'call.settled' }),
      installation.start('web'),
      installation.start('worker'),
    ])
    const [unsettled, settled] = await Promise.all(
      [first, second].map(async (dying) => {
        const account = await aFundedAccount(installation)
        return { account, stream: await begun(dying, account) }
      }),
    )
    await victim.kill()
    await installation.start('worker')
    for (const dying of [first, second]) {
      expect((await dying.ended).signal, 'the web process came to the step').to.equal('SIGKILL')
    }
    return { installation, web, unsettled: unsettled!, settled: settled! }
  }

  /** A worker is killed, Redis is flushed, and there is no other worker until the deadline of one stream has passed. */
  async function deserted() {
    const redis = await startPrivateRedis()
    closing.push(() => redis.stop())
    const installation = await newInstallation(redis.url)
    const [web, victim] = await Promise.all([installation.start('web'), installation.start('worker')])
    const stream = await begun(web, await aFundedAccount(installation))
    const hasty = await begun(web, await aFundedAccount(installation), { prefix: 'hasty-' })
    await victim.kill()
    const client = new Redis(redis.url)
    await client.flushall()
    client.disconnect()
    await hasty.ended
    await installation.start('worker')
    return { installation, stream, hasty }
  }

  async function expectRefund(installation: Installation, account: TestAccount): Promise<void> {
    const [call] = await untilEnded(installation.db, account.id, LONGEST_MS)
    expect(call).to.include({ status: 'failed', credits: 0 })
    expect(await balanceOf(installation.db, account.id)).to.equal(FUNDS)
    await expectBooksToBalance(installation.db)
  }
})
