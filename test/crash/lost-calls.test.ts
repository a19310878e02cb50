import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { eventually, until } from '../../scripts/harness/until.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { hasEnded } from '../../src/shared/terms/lifecycle.ts'
import { chatCost } from '../../src/shared/terms/pricing.ts'
import { MESSAGE_PRICES, claudeAndGpt } from '../api/v1/support/message-models.ts'
import { startMessage } from '../api/v1/support/message-streams.ts'
import { silence } from '../shared/media-files/fixtures.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'
import { startStream } from '../upstreams/support/streams.ts'
import type { ChatStream } from '../upstreams/support/streams.ts'
import { CHAT_COST, FUNDS, PRICES, aFundedAccount, ask } from '../upstreams/support/targets.ts'
import { everyProtocol, modelOf, targetsOf } from '../upstreams/support/targets.ts'
import type { Asking, Target } from '../upstreams/support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const

/** A stream that falls silent in the middle of its answer. */
const SILENT = '[tokens 60] [hang-after 20]'

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)

/** Three credits for two characters, and five at least. */
const priceOfSpeech = (text: string): number => Math.max(5, Math.ceil((text.length * 3) / 2))

/** One call that runs when its worker is killed. */
type Lost<Received> = { target: Target; account: TestAccount; prompt: string; received: Received }

describe('a call whose worker is killed', () => {
  let sandbox: Sandbox
  let town: Installation
  let web: Program
  let dyingWebs: Program[]
  let releasing: NodeJS.Timeout | undefined
  const closing: (() => Promise<unknown>)[] = []
  // They mostly wait, and so go on while the other tests run; each test awaits its own.
  let deserted: ReturnType<typeof withoutWorkers>
  let calls: Awaited<ReturnType<typeof beginAll>>

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.6, imageSeconds: 0.05 })
    deserted = withoutWorkers()
    deserted.catch(() => {})
    town = await install(sandbox, { IMAGE_CONCURRENCY: '100', ACCOUNT_SHARE: '1' }, {}, (catalogue) => {
      everyProtocol(catalogue)
      claudeAndGpt(catalogue)
    })
    const [first, killed, unsettling, settling, victim] = (await Promise.all([
      ...['', '', 'call.settling', 'call.settled'].map((crashAt) => town.start('web', { crashAt })),
      town.start('worker'),
    ])) as [Program, Program, Program, Program, Program]
    web = first
    calls = await beginAll(killed, unsettling, settling)
    await Promise.all([victim.kill(), killed.kill()])
    calls.left.received.leave()
    await town.start('worker')
    // A chat is sent again, and answered then.
    releasing = setInterval(() => sandbox.release('[hold]'), 20)
    dyingWebs = [unsettling, settling]
  })
  after(async () => {
    clearInterval(releasing)
    await town.end()
    for (const close of closing) await close()
    await sandbox.close()
  })

  /** Begins one call of every kind. Some streams pass through web processes that are killed, or die at a settlement. */
  async function beginAll(killed: Program, unsettling: Program, settling: Program) {
    const made = async (target: Target, words: string): Promise<Lost<Promise<Reply>>> => {
      const [account, prompt] = [await aFundedAccount(town), prompted(words)]
      return { account, prompt, target, received: ask(web, account, target, prompt) }
    }
    const silent = (more: Parameters<typeof begun>[1] = {}) => begun(town, { from: web, ...more })
    const hanging = prompted('[hang]')
    const account = await aFundedAccount(town)
    const keyed = { headers: { 'idempotency-key': 'joined' } }
    const read = await silent({ asking: keyed })
    const all = {
      chats: await Promise.all(targetsOf('chat').map((target) => made(target, '[hold] [usage 100 50]'))),
      unanswered: await Promise.all(targetsOf('direct', 'task').map((target) => made(target, '[hang]'))),
      tasks: await Promise.all(targetsOf('task').map((target) => made(target, '[duration 4]'))),
      streams: await Promise.all(targetsOf('chat').map((target) => silent({ target }))),
      read,
      joined: ask(web, read.account, openai, read.prompt, keyed),
      left: await silent(),
      bereft: await silent({ from: killed }),
      unsettled: await silent({ from: unsettling }),
      settled: await silent({ from: settling }),
      wordless: { account, prompt: hanging, received: startStream(web, account, openai, hanging) },
      messages: await Promise.all(
        ['claude', 'gpt'].flatMap((model) => [SILENT, '[hang]'].map((words) => beginMessage(model, words))),
      ),
      sound: await beginSound(),
    }
    const sent = [...all.chats, ...all.unanswered, ...all.tasks, all.wordless]
    await until('every call is sent', () => sent.every(({ prompt }) => sandbox.billed(prompt).total === 1))
    await until('every task is stored', async () => {
      const accounts = all.tasks.map((task) => task.account.id)
      const stored = town.db('calls').whereIn('account_id', accounts).whereNotNull('upstream_ref')
      return (await stored.select('id')).length === all.tasks.length
    })
    return all
  }

  type Beginning = { from?: Program; target?: Target; asking?: Asking }

  /** Begins a stream and reads its first 20 words. */
  async function begun(installation: Installation, { from = web, target = openai, asking = {} }: Beginning = {}) {
    const [account, prompt] = [await aFundedAccount(installation), prompted(SILENT)]
    const received = await startStream(from, account, target, prompt, asking)
    await until('all words', () => received.content().split(' ').length >= 20)
    return { account, prompt, target, received } satisfies Lost<ChatStream>
  }

  async function beginMessage(model: string, words: string) {
    const [account, prompt] = [await aFundedAccount(town), prompted(words)]
    const body = { model, max_tokens: 128_000, messages: [{ role: 'user', content: prompt }] }
    // An answer without a word begins when its call ends.
    const stream = startMessage(web, account, body)
    if (words === '[hang]') await until('its upstream has it', () => sandbox.open(prompt).open === 1)
    else await stream.then(({ words: read }) => until('all words', () => read().split(' ').length >= 20))
    return { account, stream, hangs: words === '[hang]' }
  }

  /** Begins speech of which a part is heard, speech of which nothing is, and a transcription. */
  async function beginSound() {
    const [heard, unheard, sent] = [prompted('[hang-after 1]'), prompted('[hang]'), prompted('[hang]')]
    const accounts = await Promise.all([1, 2, 3].map(() => aFundedAccount(town)))
    const [speaker, waiting, sender] = accounts as [TestAccount, TestAccount, TestAccount]
    const fetched = (path: string, { key }: TestAccount, body: string | FormData, headers = {}) =>
      fetch(`${web.url}/v1/audio/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      })
    const speak = (account: TestAccount, input: string) => {
      const body = JSON.stringify({ model: 'sandbox-speech', voice: 'alloy', input })
      return fetched('speech', account, body, { 'content-type': 'application/json' })
    }
    const reader = ((await speak(speaker, heard)).body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value!.length).to.be.above(0)
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: 'sandbox-transcription', prompt: sent }))
      form.append(name, value)
    form.append('file', new Blob([new Uint8Array(silence(2))]), 'speech.wav')
    const refunded = [
      { account: waiting, answer: speak(waiting, unheard) },
      { account: sender, answer: fetched('transcriptions', sender, form) },
    ]
    await until('both are sent', () => sandbox.billed(unheard).total + sandbox.billed(sent).total === 2)
    return { speaker, heard, reader, refunded }
  }

  /** A worker is killed, Redis is flushed, and there is no other worker until the deadline of one stream has passed. */
  async function withoutWorkers() {
    const redis = await startPrivateRedis()
    const installation = await install(sandbox, {}, { redisUrl: redis.url }, everyProtocol)
    closing.push(
      () => installation.end(),
      () => redis.stop(),
    )
    const [from, victim] = await Promise.all([installation.start('web'), installation.start('worker')])
    const stream = await begun(installation, { from })
    const hasty = await begun(installation, { from, asking: { prefix: 'hasty-' } })
    await victim.kill()
    const client = new Redis(redis.url)
    await client.flushall()
    client.disconnect()
    await hasty.received.ended
    await installation.start('worker')
    return { installation, stream, hasty }
  }

  /** The record of a stream's call, once it has ended. */
  const endOf = ({ db }: Installation, { headers }: ChatStream): Promise<CallRecord> =>
    until('its end', async () => {
      const record = await findRecord(db, parseId('call', headers.get('x-call-id')!)!)
      return record && hasEnded(record.status) && record
    })

  /** Expects a call that is paid by the words that its reader got, and was sent once. */
  async function expectPaid(where: Installation, { account, prompt, received }: Lost<ChatStream>): Promise<CallRecord> {
    const record = await endOf(where, received)
    const { inputTokens, credits } = record
    const outputTokens = tokensOf(received.content())
    expect(record).to.include({ status: 'succeeded', outputTokens, upstream: null })
    expect(credits).to.equal(Math.ceil((inputTokens! * PRICES.input + outputTokens * PRICES.output) / 10))
    expect(await balanceOf(where.db, account.id)).to.equal(FUNDS - credits)
    expect(sandbox.billed(prompt).total).to.equal(1)
    return record
  }

  /** Expects a stream that ended as one that was cut, and was paid so far. */
  async function expectWhole(where: Installation, stream: Lost<ChatStream>): Promise<void> {
    const { received } = stream
    await received.ended
    expect(received.last(), received.text()).to.equal('[DONE]')
    expect(received.chunks().flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).to.deep.equal(['length'])
    const { credits, outputTokens } = await expectPaid(where, stream)
    expect(received.chunks().at(-1)!.usage).to.include({ credits, output_tokens: outputTokens })
  }

  async function expectRefund({ id }: TestAccount): Promise<void> {
    const [call] = await untilEnded(town.db, id)
    expect(call).to.include({ status: 'failed', credits: 0 })
    expect(await balanceOf(town.db, id)).to.equal(FUNDS)
  }

  const forEach = <T>(all: readonly T[], check: (one: T) => Promise<unknown>) => Promise.all(all.map(check))

  it('continues as a task, without a second submission', () =>
    forEach(calls.tasks, async ({ account, prompt, target, received }) => {
      const reply = await received
      expect(reply.status, `${modelOf(target)}: ${reply.text}`).to.equal(200)
      const cost = PRICES[target.modality as 'image' | 'video']
      expect(reply.json.usage).to.include({ credits: cost, balance: FUNDS - cost })
      expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - cost)
      expect(sandbox.billed(prompt).total).to.equal(1)
    }))

  it('is refunded, and not submitted again, if its request for a picture or a task was unanswered', () =>
    forEach(calls.unanswered, async ({ account, prompt, target, received }) => {
      const reply = await received
      expect(reply.status, `${modelOf(target)}: ${reply.text}`).to.equal(502)
      expect(reply.json.error.message).to.match(/worker was lost/)
      await expectRefund(account)
      expect(sandbox.billed(prompt).total).to.equal(1)
    }))

  it('is sent again as a chat, and charged once', () =>
    forEach(calls.chats, async ({ account, prompt, target, received }) => {
      const reply = await received
      expect(reply.status, `${modelOf(target)}: ${reply.text}`).to.equal(200)
      expect(reply.json.usage).to.include({ credits: CHAT_COST, balance: FUNDS - CHAT_COST })
      expect(await recordOf(town.db, reply)).to.include({ status: 'succeeded', attempts: 2 })
      expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - CHAT_COST)
      expect(sandbox.billed(prompt).total).to.equal(2)
    }))

  it('is paid as a stream as far as it was delivered, whoever reads, joins or has left it', async () => {
    await forEach([...calls.streams, calls.read], (stream) => expectWhole(town, stream))
    const { account, received } = calls.read
    const kept = await get(`${web.url}/v1/calls/${received.headers.get('x-call-id')}`, account.key)
    expect(kept.json.choices[0]).to.deep.include({ finish_reason: 'length' })
    expect(kept.json.choices[0].message.content).to.equal(received.content())
    expect(kept.json.usage).to.deep.equal(received.chunks().at(-1)!.usage)
    expect((await calls.joined).json).to.deep.equal(kept.json)
    await expectPaid(town, calls.left)
  })

  it('is refunded as a stream of which nothing was delivered, or whose web process died too', async () => {
    const { ended, text } = await calls.wordless.received
    await ended
    expect(text()).to.match(/worker was lost/)
    await forEach([calls.wordless, calls.bereft, calls.unsettled], ({ account }) => expectRefund(account))
  })

  it('is settled once as a stream whose web process dies right after that', async () => {
    await until('the web processes die at their steps', () => dyingWebs.every(({ end }) => end?.signal === 'SIGKILL'))
    const { credits } = await expectPaid(town, calls.settled)
    const { account, received } = calls.settled
    const kept = await get(`${web.url}/v1/calls/${received.headers.get('x-call-id')}`, account.key)
    expect(kept.json.usage).to.include({ credits, balance: FUNDS - credits })
  })

  it('is paid as a message as far as it was delivered, or refunded, over either kind of upstream', () =>
    forEach(calls.messages, async ({ account, stream, hangs }) => {
      const read = await stream
      await read.ended
      if (hangs) return expectRefund(account)
      const output = tokensOf(read.words())
      const [delta, stop] = read.events().slice(-2)
      expect(stop).to.deep.equal({ type: 'message_stop' })
      expect(delta!.delta).to.include({ stop_reason: 'max_tokens' })
      const { input_tokens: input, output_tokens: settled, credits } = delta!.usage!
      expect(settled).to.equal(output)
      expect(credits).to.equal(chatCost(MESSAGE_PRICES, { input: input!, output }))
      expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - credits!)
      const kept = await get(`${web.url}/v1/calls/${read.headers.get('x-call-id')}`, account.key)
      expect(kept.json).to.deep.include({ type: 'message', stop_reason: 'max_tokens' })
      expect(kept.json.content).to.deep.equal([{ type: 'text', text: read.words() }])
    }))

  it('is paid in full as speech from its first byte on; unheard, and as a transcription, it is refunded', async () => {
    const { speaker, heard, reader, refunded } = calls.sound
    expect(await reader.read().catch(() => 'broken')).to.equal('broken')
    const [call] = await untilEnded(town.db, speaker.id)
    expect(call).to.include({ status: 'succeeded', credits: priceOfSpeech(heard) })
    await forEach(refunded, async ({ account, answer }) => {
      expect((await answer).status).to.equal(502)
      await expectRefund(account)
    })
    await eventually(async () => {
      expect(await town.db('uploads').count('*').first()).to.deep.equal({ count: 0 })
    })
  })

  it('is paid as a stream at its deadline if no worker is left, and if Redis is flushed as well', async () => {
    const { installation, stream, hasty } = await deserted
    for (const one of [hasty, stream]) await expectWhole(installation, one)
    await expectBooksToBalance(installation.db)
  })

  it('leaves the books balanced', () => expectBooksToBalance(town.db))
})
