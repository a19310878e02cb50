import { expect } from 'chai'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { MadeCall } from './support/records.ts'
import { aCall, useDescribed } from './support/records.ts'
import { withinOneDay } from '../../support/one-day.ts'

const DAY_MS = 86_400_000
const dayAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** Rows without how long their calls took, which differs. */
const withoutMs = (rows: { succeededMs: number }[]) => rows.map(({ succeededMs: _ms, ...row }) => row)

describe('the usage of an account', () => {
  before(withinOneDay)
  const web = useDescribed()

  describe('GET /api/usage', () => {
    it('adds up calls, failures, credits and tokens by day and model', async () => {
      const { account, api } = await web.signedIn(10_000)
      const chat = {
        model: 'sandbox-chat',
        modality: 'chat',
        amount: 50,
        cost: 20,
        tokens: { input: 7, output: 9 },
      } as const
      await aCall(web.db, account, { ...chat, at: '2026-01-02T01:00:00Z' })
      await aCall(web.db, account, { ...chat, at: '2026-01-02T22:00:00Z' })
      await aCall(web.db, account, { at: '2026-01-02T10:00:00Z' })
      await aCall(web.db, account, { end: 'failed', at: '2026-01-02T11:00:00Z' })
      await aCall(web.db, account, { end: null, at: '2026-01-03T11:00:00Z' })
      const { data } = (await api('GET', '/api/usage?from=2026-01-01&to=2026-01-31')).json
      const none = { inputTokens: 0, outputTokens: 0 }
      const images = { model: 'sandbox-image', modality: 'image', credits: 40, ...none }
      const chats = { model: 'sandbox-chat', modality: 'chat', credits: 40, inputTokens: 14, outputTokens: 18 }
      expect(withoutMs(data)).to.deep.equal([
        { day: '2026-01-02', calls: 2, failed: 0, succeeded: 2, ...chats },
        { day: '2026-01-02', calls: 2, failed: 1, succeeded: 1, ...images },
        { day: '2026-01-03', calls: 1, failed: 0, succeeded: 0, ...images },
      ])
    })

    it('counts whole days in UTC', async () => {
      const { account, api } = await web.signedIn(1000)
      for (const at of [
        '2026-01-01T23:59:59.999999Z',
        '2026-01-02T00:00:00Z',
        '2026-01-03T23:59:59.999999Z',
        '2026-01-04T00:00:00Z',
      ])
        await aCall(web.db, account, { at })
      const { data } = (await api('GET', '/api/usage?from=2026-01-02&to=2026-01-03')).json
      expect(data.map((row: { day: string; calls: number }) => [row.day, row.calls])).to.deep.equal([
        ['2026-01-02', 1],
        ['2026-01-03', 1],
      ])
    })

    it('shows the last 30 days by default, with today', async () => {
      const { account, api } = await web.signedIn(1000)
      for (const days of [30, 29]) await aCall(web.db, account, { at: `${dayAgo(days)}T12:00:00Z` })
      await aCall(web.db, account)
      const days = (await api('GET', '/api/usage')).json.data.map((row: { day: string }) => row.day)
      expect(days).to.deep.equal([dayAgo(29), dayAgo(0)])
      const seen = (await api('GET', `/api/usage?to=${dayAgo(1)}`)).json.data.map((row: { day: string }) => row.day)
      expect(seen).to.deep.equal([dayAgo(30), dayAgo(29)])
      expect((await api('GET', `/api/usage?from=${dayAgo(0)}`)).json.data).to.have.length(1)
    })

    it('refuses invalid days by name', async () => {
      const { api } = await web.signedIn()
      const wrong = (
        'from=2026-02-30 from=2026-01-01T00:00:00Z to=0000-01-01 from=2026-01-01&from=2026-01-02 ' +
        'to=2026-01-01&from=2026-01-02 from=2024-01-01&to=2025-01-01'
      ).split(' ')
      expect((await api('GET', '/api/usage?from=2024-01-01&to=2024-12-31')).status, 'a year').to.equal(200)
      for (const query of wrong) {
        const refused = await api('GET', `/api/usage?${query}`)
        expect([refused.status, refused.json.error], query).to.deep.equal([400, 'invalid_request'])
        expect(refused.json.message, query).to.match(new RegExp(`^${query.split('=')[0]} `))
      }
    })
  })

  describe('GET /api/usage/hours', () => {
    it('adds up each hour, and refuses more than a week', async () => {
      const { account, api } = await web.signedIn(1000)
      for (const at of ['2026-01-02T10:00:00Z', '2026-01-02T10:59:59.999Z', '2026-01-02T11:00:00Z'])
        await aCall(web.db, account, { at })
      const { data } = (await api('GET', '/api/usage/hours?from=2026-01-02T10:30:00Z&to=2026-01-02T11:10:00Z')).json
      expect(data.map(({ hour, calls }: { hour: string; calls: number }) => [hour, calls])).to.deep.equal([
        ['2026-01-02T10:00:00.000Z', 2],
        ['2026-01-02T11:00:00.000Z', 1],
      ])
      for (const query of ['from=2026-01-01&to=2026-01-09T00:00:00Z', 'from=2026-01-03&to=2026-01-02'])
        expect((await api('GET', `/api/usage/hours?${query}`)).status, query).to.equal(400)
    })
  })

  describe('GET /api/usage/keys', () => {
    it('adds up the same calls by day and key', async () => {
      const { account, api } = await web.signedIn(10_000)
      const { id: second } = await createKey(web.db, account.id, 'second')
      const chat = { model: 'sandbox-chat', modality: 'chat', amount: 50, cost: 20 } as const
      await aCall(web.db, account, { at: '2026-01-02T10:00:00Z' })
      await aCall(web.db, account, { ...chat, at: '2026-01-02T01:00:00Z', tokens: { input: 7, output: 9 } })
      await aCall(web.db, account, { keyId: second, end: 'failed', at: '2026-01-02T11:00:00Z' })
      await aCall(web.db, account, { keyId: second, at: '2026-01-03T11:00:00Z' })
      const read = async () => withoutMs((await api('GET', '/api/usage/keys?from=2026-01-01&to=2026-01-31')).json.data)
      const [first, other] = [publicId('key', account.keyId), publicId('key', second)]
      const [none, tokens] = [
        { inputTokens: 0, outputTokens: 0 },
        { inputTokens: 7, outputTokens: 9 },
      ]
      // Days that are over are read once.
      for (const rows of [await read(), await read()])
        expect(rows).to.have.deep.members([
          { day: '2026-01-02', keyId: first, calls: 2, failed: 0, succeeded: 2, credits: 60, ...tokens },
          { day: '2026-01-02', keyId: other, calls: 1, failed: 1, succeeded: 0, credits: 0, ...none },
          { day: '2026-01-03', keyId: other, calls: 1, failed: 0, succeeded: 1, credits: 40, ...none },
        ])
    })
  })

  describe('GET /api/usage/latency', () => {
    /** A call that took so long. */
    async function took(account: TestAccount, latencyMs: number, made: MadeCall = {}): Promise<void> {
      const id = await aCall(web.db, account, { at: '2026-01-02T10:00:00Z', ...made })
      await web.db('calls').where({ id }).update({ latency_ms: latencyMs })
    }

    it('shows the median and the 95th percentile of calls that succeeded, by model and key', async () => {
      const { account, api } = await web.signedIn(100_000)
      const { id: second } = await createKey(web.db, account.id, 'second')
      for (let at = 1; at <= 20; at++) await took(account, at * 100)
      await took(account, 7, { keyId: second, model: 'sandbox-chat', modality: 'chat' })
      await took(account, 90_000, { end: 'failed' })
      await took(account, 80_000, { at: '2026-01-04T00:00:00Z' })
      const { ok: _ok, ...found } = (await api('GET', '/api/usage/latency?from=2026-01-02&to=2026-01-03')).json
      const images = { calls: 20, p50Ms: 1000, p95Ms: 1900 }
      const chats = { calls: 1, p50Ms: 7, p95Ms: 7 }
      expect(found).to.deep.equal({
        all: { calls: 21, p50Ms: 1000, p95Ms: 1900 },
        models: [
          { model: 'sandbox-chat', ...chats },
          { model: 'sandbox-image', ...images },
        ],
        keys: [
          { keyId: publicId('key', account.keyId), ...images },
          { keyId: publicId('key', second), ...chats },
        ].toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1)),
      })
      const query = `from=2026-01-02&to=2026-01-03&keyId=${publicId('key', second)}`
      const own = (await api('GET', `/api/usage/latency?${query}`)).json
      expect([own.all, own.models]).to.deep.equal([chats, [{ model: 'sandbox-chat', ...chats }]])
    })

    it('shows nothing where no call succeeded, and nothing of another account', async () => {
      const [mine, theirs] = [await web.signedIn(1000), await web.signedIn(1000)]
      await took(theirs.account, 100)
      await took(mine.account, 100, { end: 'failed' })
      const { json } = await mine.api('GET', '/api/usage/latency?from=2026-01-01&to=2026-01-31')
      expect(json).to.deep.equal({ ok: true, all: null, models: [], keys: [] })
    })
  })
})
