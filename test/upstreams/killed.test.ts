import { expect } from 'chai'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import { withChildWorker } from './support/child-worker.ts'
import { startStream } from './support/streams.ts'
import type { ChatStream } from './support/streams.ts'
import { CHAT_COST, PRICES, FUNDS, aFundedAccount, ask, everyProtocol, targetsOf } from './support/targets.ts'
import type { Target } from './support/targets.ts'

/** One call that runs when its worker is killed. */
type Struck<Received> = { target: Target; account: TestAccount; prompt: string; received: Received }

/** Words that leave a request unanswered at the upstream; a chat's until it is released. */
const unansweredWords = ({ modality }: Target): string => (modality === 'chat' ? '[hold] [usage 100 50]' : '[hang]')

const nameOf = ({ protocol, modality }: Target): string => `${protocol} ${modality}`

describe('a worker process that is killed', function () {
  let gateway: Gateway
  let releasing: NodeJS.Timeout | undefined
  const unanswered = new Map<string, Struck<Promise<Reply>>>()
  const submitted = new Map<string, Struck<Promise<Reply>>>()
  const streaming = new Map<string, Struck<ChatStream>>()

  const prepared = async (words: string) => ({ account: await aFundedAccount(gateway), prompt: prompted(words) })

  async function begin(calls: typeof unanswered, target: Target, words: string): Promise<void> {
    const { account, prompt } = await prepared(words)
    calls.set(nameOf(target), { account, prompt, target, received: ask(gateway, account, target, prompt) })
  }

  async function beginStream(target: Target): Promise<void> {
    const { account, prompt } = await prepared('[hang-after 5] [tokens 60]')
    streaming.set(nameOf(target), {
      account,
      prompt,
      target,
      received: await startStream(gateway, account, target, prompt),
    })
  }

  const isBilled = ({ prompt }: { prompt: string }): boolean => gateway.sandbox.billed(prompt).total === 1

  async function isPersisted({ account }: { account: TestAccount }): Promise<boolean> {
    const rows = await gateway.db('calls').where({ account_id: account.id }).whereNotNull('upstream_ref').select('id')
    return rows.length === 1
  }

  before(async () => {
    gateway = await startGateway({ IMAGE_CONCURRENCY: '100', ACCOUNT_SHARE: '1' }, everyProtocol)
    await withChildWorker(gateway, async (victim) => {
      await beginAll()
      await victim.kill()
    })
    // A chat is sent again, and answered then.
    releasing = setInterval(() => gateway.sandbox.release('[hold]'), 20)
  })

  async function beginAll(): Promise<void> {
    await Promise.all([
      ...targetsOf('chat', 'direct', 'task').map((target) => begin(unanswered, target, unansweredWords(target))),
      ...targetsOf('task').map((target) => begin(submitted, target, '[duration 4]')),
      ...targetsOf('chat').map(beginStream),
    ])
    await until(
      'every call being under way',
      async () =>
        [...unanswered.values(), ...submitted.values()].every(isBilled) &&
        [...streaming.values()].every(({ received }) => received.chunks().length > 2) &&
        (await Promise.all([...submitted.values()].map(isPersisted))).every(Boolean),
    )
    expect(
      [...unanswered.values()].every(({ prompt }) => gateway.sandbox.open(prompt).open === 1),
      'some call was answered too soon',
    ).to.equal(true)
  }
  after(async () => {
    clearInterval(releasing)
    await gateway.stop()
  })

  /** Expects the end at this cost, after so many billed submissions. */
  async function expectEnd({ account, prompt }: Struck<unknown>, cost: number, billed: number): Promise<void> {
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - cost)
    expect(gateway.sandbox.billed(prompt).total).to.equal(billed)
  }

  async function expectRefund(call: Struck<Promise<Reply>>): Promise<void> {
    const reply = await call.received
    expect(reply.status, reply.text).to.equal(502)
    expect(reply.json.error.message).to.match(/worker was lost/)
    await expectEnd(call, 0, 1)
  }

  for (const target of targetsOf('task')) {
    it(`leaves a task that the next one continues without a second submission: ${nameOf(target)}`, async () => {
      const call = submitted.get(nameOf(target))!
      const reply = await call.received
      expect(reply.status, reply.text).to.equal(200)
      const cost = PRICES[target.modality as 'image' | 'video']
      expect(reply.json.usage).to.include({ credits: cost, balance: FUNDS - cost })
      await expectEnd(call, cost, 1)
    })
  }

  for (const target of targetsOf('direct', 'task')) {
    it(`causes a refund and no second submission if its request was unanswered: ${nameOf(target)}`, () =>
      expectRefund(unanswered.get(nameOf(target))!))
  }

  for (const target of targetsOf('chat')) {
    it(`leaves a chat that is sent again and charged once: ${nameOf(target)}`, async () => {
      const call = unanswered.get(nameOf(target))!
      const reply = await call.received
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.usage).to.include({ credits: CHAT_COST, balance: FUNDS - CHAT_COST })
      expect(await recordOf(gateway.db, reply)).to.include({ status: 'succeeded', attempts: 2 })
      await expectEnd(call, CHAT_COST, 2)
    })

    it(`leaves a begun stream that is paid as far as it went, and not restarted: ${nameOf(target)}`, async () => {
      const call = streaming.get(nameOf(target))!
      const { received } = call
      await received.ended
      expect(received.last(), received.text()).to.equal('[DONE]')
      const usage = received.chunks().at(-1)!.usage!
      expect(received.chunks().at(-1)!.choices[0]!.finish_reason).to.equal('length')
      expect(usage.output_tokens).to.equal(Math.ceil(received.content().length / 3))
      const record = await findRecord(gateway.db, parseId('call', received.headers.get('x-call-id')!)!)
      expect(record).to.include({
        status: 'succeeded',
        credits: usage.credits,
        outputTokens: usage.output_tokens,
        upstream: null,
      })
      expect(usage.credits).to.be.above(0)
      await expectEnd(call, Number(usage.credits), 1)
    })
  }

  it('leaves the books balanced', () => expectBooksToBalance(gateway.db))
})
