import { expect } from 'chai'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import type { KeyChanges } from '../../../src/shared/identity/key-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { changeMember, removeMember } from '../../../src/shared/identity/member-changes.ts'
import { findKey } from '../../../src/shared/identity/shown-key.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import { callerOf } from '../../support/caller.ts'
import type { Caller } from '../../support/caller.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { IMAGES, VIDEOS, image, imageBody, prompted } from '../../../scripts/harness/calling.ts'

type Member = TestMember & Caller

const ASYNC = { prefer: 'respond-async' }
const EVENTS = { accept: 'text/event-stream' }

// Budgets, scopes and open calls, judged by the charge: test/shared/calls/budgets.test.ts and key-limits.test.ts. Keys
// that have expired: test/shared/identity/key-lookup.test.ts. Which refusal comes first: order.test.ts.
describe('keys with limits', () => {
  before(withinOneDay)
  const gateway = useGateway({ TRUST_PROXY: '1' })
  const second = useSecondWeb(gateway)

  async function limited(changes: KeyChanges, credits = 100_000): Promise<Caller> {
    const account = await gateway.account(credits)
    await changeKey(gateway.db, account.keyId, changes)
    return account
  }

  function expectRefused(reply: Reply, status: number, code: ErrorCode): void {
    expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([status, code])
  }

  describe('a budget', () => {
    it('that is spent is 402 with the time of its reset, and recorded, whatever the balance', async () => {
      const account = await limited({ budget: { credits: 40, period: 'day' } }, 40)
      expect((await account.image(prompted())).status).to.equal(200)
      const refused = await account.image(prompted())
      expectRefused(refused, 402, 'key_budget_exceeded')
      const midnight = new Date().setUTCHours(24, 0, 0, 0)
      expect(refused.json.error).to.include({ code: 'key_budget_exceeded', param: null })
      expect(Date.parse(refused.json.error.resetsAt)).to.be.within(midnight - 86_400_000, midnight)
      expect(refused.headers.get('x-should-retry')).to.equal('false')
      expect(await gateway.record(refused)).to.include({ status: 'rejected', errorType: 'key_budget_exceeded' })
      await changeKey(gateway.db, account.keyId, { budget: { credits: 0, period: 'total' } })
      expect((await account.image(prompted())).json.error.resetsAt).to.equal(null)
    })

    it('that is spent makes a quote unaffordable, and takes nothing for it', async () => {
      const account = await limited({ budget: { credits: 79, period: 'day' }, models: ['sandbox-image'] })
      const quoted = (model: string) => account.post('/v1/quotes', { endpoint: IMAGES, body: { model, prompt: 'x' } })
      expect((await quoted('sandbox-image')).json).to.include({ credits: 40, affordable: true })
      await account.image(prompted())
      expect((await quoted('sandbox-image')).json).to.include({ credits: 40, affordable: false })
      expectRefused(await quoted('sized-image'), 403, 'model_not_allowed')
      expect((await findKey(gateway.db, account.keyId))!.budget!.used).to.equal(40)
    })
  })

  const video = (account: Caller, headers?: Record<string, string>) =>
    account.post(VIDEOS, { model: 'sandbox-video', prompt: prompted() }, headers)
  /** Every way to spend credits. */
  const WAYS: Record<string, (account: Caller) => Promise<Reply>> = {
    'a chat': (account) => account.chat(prompted()),
    'a streamed chat': (account) => account.chat(prompted(), { stream: true }),
    'a chat that is answered later': (account) => account.chat(prompted(), {}, ASYNC),
    'an image': (account) => account.image(prompted()),
    'an image as events': (account) => account.image(prompted(), {}, EVENTS),
    'a video': (account) => video(account),
    'a video that is answered later': (account) => video(account, ASYNC),
    'a call with an idempotency key': (account) => account.image(prompted(), {}, { 'idempotency-key': prompted() }),
    'a numbered retry of nothing': (account) => account.image(prompted(), {}, { 'x-stainless-retry-count': '1' }),
    'a call at the other web process': (account) => image(second, account, prompted()),
  }
  it('refuse whatever costs credits, of a key whose budget is spent', async () => {
    const account = await limited({ budget: { credits: 0, period: 'day' } })
    for (const [way, send] of Object.entries(WAYS)) {
      const reply = await send(account)
      expect([reply.status, reply.json?.error?.type], way).to.deep.equal([402, 'key_budget_exceeded'])
    }
    expect((await account.counts()).charged).to.equal(0)
  })

  it('have a list of models, which GET /v1/models lists alone', async () => {
    const models = ['sandbox-chat', 'sandbox-video', 'not-yet']
    const account = await limited({ models, modalities: ['chat', 'image'] })
    expect((await account.chat(prompted())).status).to.equal(200)
    const refused = await video(account)
    expectRefused(refused, 403, 'model_not_allowed')
    expect(refused.json.error.param).to.equal('model')
    expectRefused(await account.image('x', { model: 'not-yet' }), 400, 'unsupported_model')
    const listed = await account.get('/v1/models')
    expect(listed.json.data.map(({ id }: { id: string }) => id)).to.deep.equal(['sandbox-chat'])
  })

  describe('a list of addresses', () => {
    // What is in a range: test/shared/platform/net/ranges.test.ts.
    const RANGES = ['203.0.113.0/24', '2001:db8::/32']
    it('is that of the address which the trusted proxy says', async () => {
      const account = await limited({ allowedIps: RANGES })
      for (const [address, ...expected] of [
        ['198.51.100.1, 203.0.113.5', 200, 200, 202],
        ['203.0.113.5, 198.51.100.1', 403, 403, 403],
      ] as const) {
        const from = { 'x-forwarded-for': address }
        const replies = [
          await account.get('/v1/models', from),
          await account.get('/v1/key', from),
          await account.post(IMAGES, imageBody(prompted()), { ...from, ...ASYNC }),
        ]
        expect(replies.map(({ status }) => status)).to.deep.equal(expected)
        if (expected[0] === 403) for (const reply of replies) expectRefused(reply, 403, 'ip_not_allowed')
      }
    })

    it('folds its refusals into one record a minute, since no rate limit comes before it', async () => {
      const account = await limited({ allowedIps: RANGES })
      for (let request = 0; request < 5; request++) await account.image('x')
      const counts = await gateway.db('calls').where({ account_id: account.id }).pluck<number[]>('count')
      expect(counts.length).to.be.at.most(2)
      expect(counts.reduce((sum, count) => sum + Number(count), 0)).to.equal(5)
    })
  })

  it('have a rate limit within a second beside that of the account; headers show which leaves less', async () => {
    const account = await gateway.account(10_000)
    const left = ({ headers }: Reply) =>
      ['limit', 'remaining'].map((what) => headers.get(`x-ratelimit-${what}-requests`))
    const usual = gateway.config.GATEWAY_RATE_LIMIT
    expect(left(await account.image(prompted()))).to.deep.equal([String(usual), String(usual - 1)])
    await changeKey(gateway.db, account.keyId, { rateLimit: 2 })
    let counted = 1
    await until('the limit to apply', async () => {
      counted += 1
      return left(await account.get('/v1/key'))[0] === '2'
    })
    expect(left(await account.get('/v1/key'))).to.deep.equal(['2', '0'])
    const refused = await account.image(prompted())
    expectRefused(refused, 429, 'rate_limited')
    expect(left(refused)).to.deep.equal(['2', '0'])
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    const free = await createKey(gateway.db, account.id, 'free')
    // What the key was refused has not been counted for the account.
    const other = await get(`${gateway.url}/v1/key`, free.secret)
    expect(left(other)).to.deep.equal([String(usual), String(usual - counted - 2)])
    await changeKey(gateway.db, account.keyId, { rateLimit: null })
    expect((await account.image(prompted())).status).to.equal(200)
  })

  it('are shown to their holder by GET /v1/key', async () => {
    const limits = { models: ['sandbox-image'], rateLimit: 7, maxOutstanding: 3 }
    const expiresAt = new Date('2999-01-01T00:00:00Z')
    const account = await limited({ ...limits, budget: { credits: 100, period: 'month' }, expiresAt })
    await account.image(prompted())
    const { key } = (await account.get('/v1/key')).json
    const none = { modalities: null, allowedIps: null, revokedAt: null, previousSecretUntil: null }
    expect(key).to.deep.include({ name: 'test', ...limits, ...none, expiresAt: expiresAt.toISOString() })
    expect(key.budget).to.include({ credits: 100, period: 'month', used: 40, remaining: 60 })
    expect(new Date(key.budget.resetsAt).getUTCDate()).to.equal(1)
  })

  describe('of an organisation, whose members', () => {
    /** An organisation with its owner, and members with these fields. */
    async function organised<T extends Parameters<typeof aMember>[2][]>(credits: number, ...fields: T) {
      const owner = callerOf(gateway, await anOrganisation(gateway.db, credits))
      const members: Member[] = []
      for (const one of fields) members.push(callerOf(gateway, await aMember(gateway.db, owner, one)))
      return [owner, ...members] as [Member, ...{ [at in keyof T]: Member }]
    }
    const openOf = async ({ id }: Member): Promise<number> =>
      (await gateway.db('accounts').where({ id }).first<{ open: number }>({ open: 'outstanding_calls' })).open
    const memberOf = ({ id, userId }: Member) => ({ userId, accountId: id })
    const codeOf = ({ status, json }: { status: number; json: { error: { type: string } } }) => [
      status,
      json.error.type,
    ]

    it('have a budget: 402 with the time of its reset, beside one of the key too, and recorded', async () => {
      const [owner, member] = await organised(1000, { budget: { credits: 40, period: 'day' } })
      await changeKey(gateway.db, member.keyId, { budget: { credits: 40, period: 'month' } })
      expect((await member.image(prompted())).status).to.equal(200)
      const refused = await member.image(prompted())
      const midnight = new Date().setUTCHours(24, 0, 0, 0)
      expect(codeOf(refused)).to.deep.equal([402, 'member_budget_exceeded'])
      expect(refused.json.error.message).to.contain('your budget in this account')
      expect(Date.parse(refused.json.error.resetsAt)).to.be.within(midnight - 86_400_000, midnight)
      expect(await gateway.record(refused)).to.include({ status: 'rejected', errorType: 'member_budget_exceeded' })
      await changeMember(gateway.db, memberOf(member), { budget: null }, owner.userId)
      expect(codeOf(await member.image(prompted()))).to.deep.equal([402, 'key_budget_exceeded'])
      expect((await owner.image(prompted())).status, 'of another member').to.equal(200)
    })

    it('alone know their calls and responses by an id, with any key of theirs', async () => {
      const [owner, one, other] = await organised(10_000, {}, {})
      const call = `/v1/calls/${(await one.image(prompted())).headers.get('x-call-id')}`
      expect((await one.get(call)).status).to.equal(200)
      for (const stranger of [other, owner]) expect((await stranger.get(call)).status).to.equal(404)
      const made = await send('POST', `${gateway.url}/api/keys`, { key: one.token, body: { name: 'second' } })
      expect((await get(`${gateway.url}${call}`, made.json.secret)).status).to.equal(200)

      const ask = (member: Member, more: object = {}) =>
        member.post('/v1/responses', { model: 'sandbox-chat', input: prompted(), max_output_tokens: 20, ...more })
      const { id } = (await ask(one)).json
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/input_items'],
        ['DELETE', ''],
        ['POST', '/cancel'],
      ] as const)
        expect((await other.send(method, `/v1/responses/${id}${path}`)).status, method + path).to.equal(404)
      expect((await ask(other, { previous_response_id: id })).json.error.code).to.equal('previous_response_not_found')
      expect((await ask(one, { previous_response_id: id })).status).to.equal(200)
    })

    it('name their calls for themselves: an Idempotency-Key of one is none of another', async () => {
      const [owner, one, other] = await organised(10_000, {}, {})
      const [prompt, headers] = [prompted(), { 'idempotency-key': prompted() }]
      const asked = await Promise.all(
        [one, other, one, other].map((member, at) => image([gateway, second][at >> 1]!, member, prompt, {}, headers)),
      )
      expect(asked.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
      const ids = asked.map((reply) => reply.headers.get('x-call-id'))
      expect([ids[0] === ids[2], ids[1] === ids[3], ids[0] === ids[1]]).to.deep.equal([true, true, false])
      expect(await owner.balance()).to.equal(10_000 - 80)
    })

    it('are refused at once when they are removed, while their calls that run end', async () => {
      const [owner, member] = await organised(10_000, { budget: { credits: 500, period: 'day' } })
      const running = member.chat(prompted('[delay 700]'))
      await until('the call is open', async () => (await openOf(member)) === 1)
      await removeMember(gateway.db, memberOf(member), owner.userId)
      expect((await member.image(prompted())).status).to.equal(401)
      const answer = await running
      expect(answer.status, answer.text).to.equal(200)
      expect(await openOf(member)).to.equal(0)
    })

    it('see their own records, and owner and admins all, by member too', async () => {
      const [owner, one, other] = await organised(10_000, {}, { role: 'admin' })
      await one.image(prompted())
      await other.image(prompted())
      const api = (path: string, { token }: Member) => get(`${gateway.url}/api/${path}`, token)
      const listed = async (path: string, member: Member) => (await api(path, member)).json.data
      const mine = await listed('calls', one)
      const all = await listed('calls', other)
      expect([mine.length, all.length]).to.deep.equal([1, 2])
      const theirs = all.find(({ id }: { id: string }) => id !== mine[0].id)
      expect((await api(`calls/${theirs.id}`, one)).status).to.equal(404)
      expect(await listed(`calls?memberId=${mine[0].memberId}`, other)).to.deep.equal(mine)
      expect(await listed(`calls?memberId=${theirs.memberId}`, one)).to.deep.equal([])
      expect((await listed('usage', one))[0].calls).to.equal(1)
      expect((await listed('usage', owner))[0].calls).to.equal(2)
      const members = await listed('usage/members', other)
      expect(members.map((row: Record<string, unknown>) => [row.email, row.calls, row.credits])).to.have.deep.members([
        [one.email, 1, 40],
        [other.email, 1, 40],
      ])
      const lines = (await api('exports/members', owner)).text.split('\r\n')
      expect(lines[0]).to.equal('day,memberId,email,calls,failed,credits,inputTokens,outputTokens')
      expect(lines).to.have.length(4)
      expect((await api('exports/calls', one)).text.split('\r\n')).to.have.length(3)
      expect((await api('usage/members', one)).status).to.equal(403)
    })
  })
})
