import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, chat, chatBody, countsOf, prompted } from '../../../scripts/harness/calling.ts'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { begin, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

/** Longer than the moment within which an equal request is another call, in ms. */
const LATER = 250

const isReplay = (reply: Reply): boolean => reply.headers.get('idempotent-replayed') === 'true'

describe('a request that equals a call which was left unanswered', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 10_000)

  const isLeft = () => gateway.db('calls').where({ account_id: account.id }).whereNotNull('abandoned_at').first()

  /** Sends a chat, and disconnects once the upstream has it. */
  async function leave(content: string, more: object = {}): Promise<void> {
    const leaving = new AbortController()
    const { signal } = leaving
    const body = chatBody(content, more)
    const sent = send('POST', `${gateway.url}${CHAT}`, { key: account.key, body, signal }).catch(() => null)
    await until('the upstream to have it', () => gateway.sandbox.open(content).open > 0)
    leaving.abort()
    await sent
    await until('the disconnect to be recorded', isLeft)
  }

  async function leaveFor(content: string, more: object = {}): Promise<void> {
    await leave(content, more)
    await sleep(LATER)
  }

  it('joins it without a number: one charge, one bill', async () => {
    const content = prompted('[hold] [answer at last]')
    await leaveFor(content)
    const joining = chat(gateway, account, content)
    await until('the retry to have joined', async () => !(await isLeft()))
    gateway.sandbox.release(content)
    const retry = await joining
    expect([retry.status, isReplay(retry)], retry.text).to.deep.equal([200, true])
    expect(retry.json.choices[0].message.content).to.equal('at last')
    expect(gateway.sandbox.billed(content).total).to.equal(1)
    expect(await countsOf(gateway.db, account)).to.include({ calls: 1 })
  })

  it('is given the answer that came meanwhile, and once only', async () => {
    const content = prompted('[delay 300] [answer at last]')
    await leaveFor(content)
    await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first())
    const joined = await chat(gateway, account, content)
    expect([isReplay(joined), joined.json.choices[0].message.content]).to.deep.equal([true, 'at last'])
    expect(isReplay(await chat(gateway, account, content))).to.equal(false)
    expect(gateway.sandbox.billed(content).total).to.equal(2)
  })

  it('is another call with another key, another body, or where it says so', async () => {
    const later = prompted('[delay 1200]')
    await leaveFor(later)
    const { secret } = await createKey(gateway.db, account.id, 'other')
    const others = await Promise.all([
      chat(gateway, { key: secret }, later),
      chat(gateway, account, later, { temperature: 1 }),
      chat(gateway, account, later, {}, { 'x-new-call': 'true' }),
      chat(gateway, account, later, {}, { 'x-new-call': 'true', 'x-stainless-retry-count': '1' }),
    ])
    expect(others.map(isReplay)).to.deep.equal([false, false, false, false])
    expect(isReplay(await chat(gateway, account, later)), 'it can still be joined').to.equal(true)
  })

  it('is another call where that one failed, or is older than two minutes', async () => {
    const failing = prompted('[delay 400] [status 400]')
    await leaveFor(failing)
    await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'failed' }).first())
    expect(isReplay(await chat(gateway, account, failing))).to.equal(false)
    const old = prompted('[delay 500]')
    await leaveFor(old)
    await gateway
      .db('calls')
      .where({ account_id: account.id })
      .whereNotNull('abandoned_at')
      .update({
        created_at: gateway.db.raw("now() - interval '121 seconds'"),
      })
    expect(isReplay(await chat(gateway, account, old))).to.equal(false)
  })

  describe('that was a stream', () => {
    it('joins it where nothing had been delivered, as a stream or whole', async () => {
      for (const stream of [true, false]) {
        const content = prompted('[delay 1500] [answer at last]')
        await leaveFor(content, { stream: true })
        expect(gateway.sandbox.open(content).aborted, 'it goes on').to.equal(0)
        const retry = await chat(gateway, account, content, { stream })
        expect(isReplay(retry)).to.equal(true)
        expect(gateway.sandbox.billed(content).total).to.equal(1)
      }
    })

    it('finds it cancelled after ten seconds, charged for its input, and is another call then', async () => {
      // Longer than it takes to cancel it, on any machine.
      const content = prompted('[delay 60000]')
      await leave(content, { stream: true })
      await until('the upstream to notice', () => gateway.sandbox.open(content).aborted === 1)
      await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first())
      expect(await balanceOf(gateway.db, account.id)).to.equal(9999)
      const again = await chat(gateway, account, content, {}, { prefer: 'respond-async' })
      expect([again.status, isReplay(again)]).to.deep.equal([202, false])
      expect(await countsOf(gateway.db, account)).to.include({ calls: 2, charged: 2 })
    }).timeout(120_000)

    it('never joins one that was cancelled because it had delivered something', async () => {
      const content = prompted('[answer one two three four] [hold]')
      const leaving = new AbortController()
      const response = await begin(`${gateway.url}${CHAT}`, account.key, chatBody(content, { stream: true }), {
        signal: leaving.signal,
      })
      await response.body!.getReader().read()
      leaving.abort()
      await until('the upstream to notice', () => gateway.sandbox.open(content).aborted === 1)
      await until('the end', () => gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first())
      await sleep(LATER)
      for (const count of ['0', '1']) {
        const again = chat(gateway, account, content, {}, { 'x-stainless-retry-count': count })
        await until('the upstream to have it', () => gateway.sandbox.release(content) > 0)
        expect(isReplay(await again)).to.equal(false)
      }
    })
  })
})
