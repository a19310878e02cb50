import { expect } from 'chai'
import { SPEECH, TRANSCRIPTIONS, prompted, recordOf } from '../../scripts/harness/calling.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { begin, get, send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { eventually, until } from '../../scripts/harness/until.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { hasEnded } from '../../src/shared/terms/lifecycle.ts'
import { silence } from '../shared/media-files/fixtures.ts'
import { untilEnded } from '../support/crash.ts'
import { useInstallation } from '../support/installed.ts'
import { startStream } from '../upstreams/support/streams.ts'
import type { ChatStream } from '../upstreams/support/streams.ts'
import { CHAT_COST, FUNDS, PRICES, aFundedAccount, ask } from '../upstreams/support/targets.ts'
import { everyProtocol } from '../upstreams/support/targets.ts'
import type { Asking, Target } from '../upstreams/support/targets.ts'

const openai = { protocol: 'openai', modality: 'chat' } as const
/** A picture that is made within its request, and a video that is a task. */
const PICTURE = { protocol: 'openai', modality: 'image' } as const
const TASK = { protocol: 'fal', modality: 'video' } as const

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)

/** Three credits for two characters, and five at least. */
const priceOfSpeech = (text: string): number => Math.max(5, Math.ceil((text.length * 3) / 2))

/** One call that runs when its worker is killed. */
type Lost<Received> = { account: TestAccount; prompt: string; received: Received }

describe('a call whose worker is killed', () => {
  const town = useInstallation({}, { videoSeconds: 0.6, imageSeconds: 0.05 }, everyProtocol, 'any')
  let web: Program
  let dyingWebs: Program[]
  let releasing: NodeJS.Timeout | undefined
  // They mostly wait, and so go on while the other tests run; each test awaits its own.
  let calls: Awaited<ReturnType<typeof beginAll>>
  /** A stream whose deadline passes while there is no worker. */
  let hasty: Lost<ChatStream>

  before(async () => {
    const [first, killed, unsettling, settling, victim] = (await Promise.all([
      ...['', '', 'call.settling', 'call.settled'].map((crashAt) => town.start('web', { crashAt })),
      town.start('worker'),
    ])) as [Program, Program, Program, Program, Program]
    web = first
    calls = await beginAll(killed, unsettling, settling)
    hasty = await begun({ asking: { prefix: 'hasty-' } })
    await Promise.all([victim.kill(), killed.kill()])
    calls.left.received.leave()
    await hasty.received.ended
    await town.start('worker')
    // A chat is sent again, and answered then.
    releasing = setInterval(() => town.sandbox.release('[hold]'), 20)
    dyingWebs = [unsettling, settling]
  })
  after(() => clearInterval(releasing))

  /** Begins one call of every kind. Some streams pass through web processes that are killed, or die at a settlement. */
  async function beginAll(killed: Program, unsettling: Program, settling: Program) {
    const made = async (target: Target, words: string): Promise<Lost<Promise<Reply>>> => {
      const [account, prompt] = [await aFundedAccount(town), prompted(words)]
      return { account, prompt, received: ask(web, account, target, prompt) }
    }
    const hanging = prompted('[hang]')
    const account = await aFundedAccount(town)
    const keyed = { headers: { 'idempotency-key': 'joined' } }
    const read = await begun({ asking: keyed })
    const all = {
      chat: await made(openai, '[hold] [usage 100 50]'),
      unanswered: [await made(PICTURE, '[hang]'), await made(TASK, '[hang]')],
      task: await made(TASK, '[duration 4]'),
      read,
      joined: ask(web, read.account, openai, read.prompt, keyed),
      left: await begun(),
      bereft: await begun({ from: killed }),
      unsettled: await begun({ from: unsettling }),
      settled: await begun({ from: settling }),
      wordless: { account, prompt: hanging, received: startStream(web, account, openai, hanging) },
      sound: await beginSound(),
    }
    const sent = [all.chat, ...all.unanswered, all.task, all.wordless]
    await until('every call is sent', () => sent.every(({ prompt }) => town.sandbox.billed(prompt).total === 1))
    const stored = town.db('calls').where({ account_id: all.task.account.id }).whereNotNull('upstream_ref').first('id')
    await until('the task is stored', () => stored.clone())
    return all
  }

  /** Begins a stream that falls silent, and reads its first 20 words. */
  async function begun({ from = web, asking = {} }: { from?: Program; asking?: Asking } = {}) {
    const [account, prompt] = [await aFundedAccount(town), prompted('[tokens 60] [hang-after 20]')]
    const received = await startStream(from, account, openai, prompt, asking)
    await until('all words', () => received.content().split(' ').length >= 20)
    return { account, prompt, received } satisfies Lost<ChatStream>
  }

  /** Begins speech of which a part is heard, speech of which nothing is, and a transcription. */
  async function beginSound() {
    const [heard, unheard, sent] = [prompted('[hang-after 1]'), prompted('[hang]'), prompted('[hang]')]
    const accounts = await Promise.all([1, 2, 3].map(() => aFundedAccount(town)))
    const [speaker, waiting, sender] = accounts as [TestAccount, TestAccount, TestAccount]
    const speak = ({ key }: TestAccount, input: string) =>
      begin(`${web.url}${SPEECH}`, key, { model: 'sandbox-speech', voice: 'alloy', input })
    const reader = ((await speak(speaker, heard)).body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value!.length).to.be.above(0)
    const form = new FormData()
    form.append('model', 'sandbox-transcription')
    form.append('prompt', sent)
    form.append('file', new Blob([new Uint8Array(silence(2))]), 'speech')
    const refunded = [
      { account: waiting, answer: speak(waiting, unheard) },
      { account: sender, answer: send('POST', `${web.url}${TRANSCRIPTIONS}`, { key: sender.key, body: form }) },
    ]
    await until('both are sent', () => town.sandbox.billed(unheard).total + town.sandbox.billed(sent).total === 2)
    return { speaker, heard, reader, refunded }
  }

  /** Expects a call that is paid by the words that its reader got, and was sent once. */
  async function expectPaid({ account, prompt, received }: Lost<ChatStream>): Promise<CallRecord> {
    const id = parseId('call', received.headers.get('x-call-id')!)!
    const record = await until('its end', async () => {
      const found = await findRecord(town.db, id)
      return found && hasEnded(found.status) && found
    })
    const { inputTokens, credits } = record
    const outputTokens = tokensOf(received.content())
    expect(record).to.include({ status: 'succeeded', outputTokens, upstream: null })
    expect(credits).to.equal(Math.ceil((inputTokens! * PRICES.input + outputTokens * PRICES.output) / 10))
    expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - credits)
    expect(town.sandbox.billed(prompt).total).to.equal(1)
    return record
  }

  /** Expects a stream that ended as one that was cut, and was paid so far. */
  async function expectWhole(stream: Lost<ChatStream>): Promise<void> {
    const { received } = stream
    await received.ended
    expect(received.last(), received.text()).to.equal('[DONE]')
    expect(received.chunks().flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).to.deep.equal(['length'])
    const { credits, outputTokens } = await expectPaid(stream)
    expect(received.chunks().at(-1)!.usage).to.include({ credits, output_tokens: outputTokens })
  }

  async function expectRefund({ id }: TestAccount): Promise<void> {
    const [call] = await untilEnded(town.db, id)
    expect(call).to.include({ status: 'failed', credits: 0 })
    expect(await balanceOf(town.db, id)).to.equal(FUNDS)
  }

  const forEach = <T>(all: readonly T[], check: (one: T) => Promise<unknown>) => Promise.all(all.map(check))

  it('continues as a task, without a second submission', async () => {
    const { account, prompt, received } = calls.task
    const reply = await received
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.usage).to.include({ credits: PRICES.video, balance: FUNDS - PRICES.video })
    expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - PRICES.video)
    expect(town.sandbox.billed(prompt).total).to.equal(1)
  })

  it('is refunded, and not submitted again, if its request for a picture or a task was unanswered', () =>
    forEach(calls.unanswered, async ({ account, prompt, received }) => {
      const reply = await received
      expect(reply.status, `${prompt}: ${reply.text}`).to.equal(502)
      expect(reply.json.error.message).to.match(/worker was lost/)
      await expectRefund(account)
      expect(town.sandbox.billed(prompt).total).to.equal(1)
    }))

  it('is sent again as a chat, and charged once', async () => {
    const { account, prompt, received } = calls.chat
    const reply = await received
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.usage).to.include({ credits: CHAT_COST, balance: FUNDS - CHAT_COST })
    expect(await recordOf(town.db, reply)).to.include({ status: 'succeeded', attempts: 2 })
    expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - CHAT_COST)
    expect(town.sandbox.billed(prompt).total).to.equal(2)
  })

  it('is paid as a stream as far as it was delivered, whoever reads, joins or has left it', async () => {
    await expectWhole(calls.read)
    const { account, received } = calls.read
    const kept = await get(`${web.url}/v1/calls/${received.headers.get('x-call-id')}`, account.key)
    expect(kept.json.choices[0]).to.deep.include({ finish_reason: 'length' })
    expect(kept.json.choices[0].message.content).to.equal(received.content())
    expect(kept.json.usage).to.deep.equal(received.chunks().at(-1)!.usage)
    expect((await calls.joined).json).to.deep.equal(kept.json)
    await expectPaid(calls.left)
  })

  it('is refunded as a stream of which nothing was delivered, or whose web process died too', async () => {
    const { ended, text } = await calls.wordless.received
    await ended
    expect(text()).to.match(/worker was lost/)
    await forEach([calls.wordless, calls.bereft, calls.unsettled], ({ account }) => expectRefund(account))
  })

  it('is settled once as a stream whose web process dies right after that', async () => {
    await until('the web processes die at their steps', () => dyingWebs.every(({ end }) => end?.signal === 'SIGKILL'))
    const { credits } = await expectPaid(calls.settled)
    const { account, received } = calls.settled
    const kept = await get(`${web.url}/v1/calls/${received.headers.get('x-call-id')}`, account.key)
    expect(kept.json.usage).to.include({ credits, balance: FUNDS - credits })
  })

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

  it('is paid as a stream at its deadline if no worker is left', () => expectWhole(hasty))
})
