import { expect } from 'chai'
import { createKey, rotateKey } from '../../../src/shared/identity/api-keys.ts'
import type { KeyChanges } from '../../../src/shared/identity/key-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { findKey } from '../../../src/shared/identity/shown-key.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { withinOneDay } from '../../support/one-day.ts'
import {
  CHAT,
  IMAGES,
  VIDEOS,
  chat,
  chatBody,
  countsOf,
  image,
  imageBody,
  prompted,
  recordOf,
} from '../../../scripts/harness/calling.ts'

const ASYNC = { prefer: 'respond-async' }
const EVENTS = { accept: 'text/event-stream' }

describe('keys with limits', () => {
  before(withinOneDay)
  const gateway = useGateway({ TRUST_PROXY: '1' })
  const second = useSecondWeb(gateway)

  async function limited(changes: KeyChanges, credits = 100_000): Promise<TestAccount> {
    const account = await anAccount(gateway.db, credits)
    await changeKey(gateway.db, account.keyId, changes)
    return account
  }

  const from = (address: string) => ({ 'x-forwarded-for': address })

  function expectRefused(reply: Reply, status: number, code: ErrorCode): void {
    expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([status, code])
  }

  describe('a budget', () => {
    it('that is spent is 402 with the time of its reset, and recorded, whatever the balance', async () => {
      const account = await limited({ budget: { credits: 40, period: 'day' } }, 40)
      expect((await image(gateway, account, prompted())).status).to.equal(200)
      const refused = await image(gateway, account, prompted())
      expectRefused(refused, 402, 'key_budget_exceeded')
      const midnight = new Date()
      midnight.setUTCHours(24, 0, 0, 0)
      expect(refused.json.error).to.include({ code: 'key_budget_exceeded', param: null })
      expect(Date.parse(refused.json.error.resetsAt)).to.be.within(midnight.getTime() - 86_400_000, midnight.getTime())
      expect(refused.headers.get('x-should-retry')).to.equal('false')
      expect(await recordOf(gateway.db, refused)).to.include({ status: 'rejected', errorType: 'key_budget_exceeded' })
    })

    it('that is spent makes a quote unaffordable, and takes nothing for it', async () => {
      const account = await limited({ budget: { credits: 79, period: 'day' }, models: ['sandbox-image'] })
      const quoted = (body: object) =>
        post(`${gateway.url}/v1/quotes`, account.key, { endpoint: IMAGES, body: { ...body, prompt: 'x' } })
      expect((await quoted({ model: 'sandbox-image' })).json).to.include({ credits: 40, affordable: true })
      await image(gateway, account, prompted())
      expect((await quoted({ model: 'sandbox-image' })).json).to.include({ credits: 40, affordable: false })
      expectRefused(await quoted({ model: 'sized-image' }), 403, 'model_not_allowed')
      expect((await findKey(gateway.db, account.keyId))!.budget!.used).to.equal(40)
    })

    it('in total never resets', async () => {
      const account = await limited({ budget: { credits: 0, period: 'total' } })
      const refused = await image(gateway, account, prompted())
      expectRefused(refused, 402, 'key_budget_exceeded')
      expect(refused.json.error.resetsAt).to.equal(null)
    })

    it('that is spent still lets what was paid be fetched, replayed and joined', async () => {
      const account = await limited({ budget: { credits: 80, period: 'week' } })
      const prompt = prompted()
      const paid = await image(gateway, account, prompt, {}, { 'idempotency-key': 'paid' })
      const slow = prompted('[hold]')
      const running = image(gateway, account, slow, {}, { 'idempotency-key': 'running' })
      await until('the upstream to have it', () => gateway.sandbox.open(slow).open > 0)
      expectRefused(await image(gateway, account, prompted()), 402, 'key_budget_exceeded')
      const replayed = await image(second, account, prompt, {}, { 'idempotency-key': 'paid' })
      expect([replayed.status, replayed.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
      const joining = image(second, account, slow, {}, { 'idempotency-key': 'running' })
      gateway.sandbox.release(slow)
      const joined = await joining
      expect([joined.status, joined.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
      const fetched = await get(`${gateway.url}/v1/calls/${paid.headers.get('x-call-id')}`, account.key)
      expect(fetched.json.data).to.deep.equal(paid.json.data)
      expect((await running).status).to.equal(200)
    })

    it('gets back what failed, and can be raised and lifted between two calls', async () => {
      const account = await limited({ budget: { credits: 40, period: 'total' } })
      expect((await image(gateway, account, prompted('[fail]'))).status).to.equal(502)
      expect((await image(gateway, account, prompted())).status).to.equal(200)
      expectRefused(await image(gateway, account, prompted()), 402, 'key_budget_exceeded')
      await changeKey(gateway.db, account.keyId, { budget: { credits: 80, period: 'total' } })
      expect((await image(gateway, account, prompted())).status).to.equal(200)
      expectRefused(await image(gateway, account, prompted()), 402, 'key_budget_exceeded')
      await changeKey(gateway.db, account.keyId, { budget: null })
      expect((await image(gateway, account, prompted())).status).to.equal(200)
    })
  })

  /** Every way to spend credits. */
  const WAYS: [what: string, send: (account: TestAccount) => Promise<Reply>][] = [
    ['a chat', (account) => chat(gateway, account, prompted())],
    ['a streamed chat', (account) => chat(gateway, account, prompted(), { stream: true })],
    ['a chat that is answered later', (account) => chat(gateway, account, prompted(), {}, ASYNC)],
    ['an image', (account) => image(gateway, account, prompted())],
    ['an image as events', (account) => image(gateway, account, prompted(), {}, EVENTS)],
    [
      'a video',
      (account) => post(`${gateway.url}${VIDEOS}`, account.key, { model: 'sandbox-video', prompt: prompted() }),
    ],
    [
      'a video that is answered later',
      (account) => post(`${gateway.url}${VIDEOS}`, account.key, { model: 'sandbox-video', prompt: prompted() }, ASYNC),
    ],
    [
      'a call with an idempotency key',
      (account) => image(gateway, account, prompted(), {}, { 'idempotency-key': prompted() }),
    ],
    [
      'a numbered retry of nothing',
      (account) => image(gateway, account, prompted(), {}, { 'x-stainless-retry-count': '1' }),
    ],
    ['a call at the other web process', (account) => image(second, account, prompted())],
  ]

  const REFUSALS: [what: string, changes: KeyChanges, status: number, code: ErrorCode][] = [
    ['whose budget is spent', { budget: { credits: 0, period: 'day' } }, 402, 'key_budget_exceeded'],
    ['for other models', { models: ['unavailable-image'] }, 403, 'model_not_allowed'],
    [
      'for no modality of the call',
      { models: ['no-such-model'], modalities: ['chat', 'image', 'video'] },
      403,
      'model_not_allowed',
    ],
    ['from elsewhere', { allowedIps: ['192.0.2.0/24'] }, 403, 'ip_not_allowed'],
    ['past its time', { expiresAt: new Date(Date.now() - 1000) }, 401, 'unauthorized'],
  ]
  for (const [what, changes, status, code] of REFUSALS) {
    it(`refuse with ${code} whatever costs credits, of a key ${what}`, async () => {
      const account = await limited(changes)
      for (const [way, send] of WAYS) {
        const reply = await send(account)
        expect([reply.status, reply.json?.error?.type], way).to.deep.equal([status, code])
      }
      expect((await countsOf(gateway.db, account)).charged).to.equal(0)
    })

    it(`refuse with ${code}, before other faults, what was served before, of a key ${what}`, async () => {
      for (const [way, body] of [
        ['a chat', chatBody(prompted())],
        ['no chat', { ...chatBody(prompted()), messages: 'none' }],
      ] as const) {
        const account = await anAccount(gateway.db, 10_000)
        const used = await chat(gateway, account, prompted())
        expect(used.status, way).to.equal(200)
        await changeKey(gateway.db, account.keyId, changes)
        const reply = await post(`${gateway.url}${CHAT}`, account.key, body)
        // A budget is looked at last.
        const expected = way === 'no chat' && status === 402 ? [400, 'invalid_messages'] : [status, code]
        expect([reply.status, reply.json?.error?.type], way).to.deep.equal(expected)
        const hasCounted = reply.headers.get('x-ratelimit-limit-requests') !== null
        expect(hasCounted, way).to.equal(!['ip_not_allowed', 'unauthorized'].includes(code))
        expect((await countsOf(gateway.db, account)).charged, way).to.equal(1)
      }
    })
  }

  it('pass the same ways without a limit', async () => {
    const account = await anAccount(gateway.db, 10_000)
    for (const [way, send] of WAYS) expect((await send(account)).status, way).to.be.oneOf([200, 202])
  })

  describe('a list of models', () => {
    it('lets its models through, and GET /v1/models lists those alone', async () => {
      const account = await limited({
        models: ['sandbox-chat', 'sandbox-video', 'not-yet'],
        modalities: ['chat', 'image'],
      })
      expect((await chat(gateway, account, prompted())).status).to.equal(200)
      const refused = await post(`${gateway.url}${VIDEOS}`, account.key, { model: 'sandbox-video', prompt: 'x' })
      expectRefused(refused, 403, 'model_not_allowed')
      expect(refused.json.error.param).to.equal('model')
      expectRefused(await image(gateway, account, 'x', { model: 'not-yet' }), 400, 'unsupported_model')
      const listed = await get(`${gateway.url}/v1/models`, account.key)
      expect(listed.json.data.map(({ id }: { id: string }) => id)).to.deep.equal(['sandbox-chat'])
    })
  })

  describe('a list of addresses', () => {
    const RANGES = ['203.0.113.0/24', '2001:db8::/32']
    const CASES: [address: string, isAllowed: boolean][] = [
      ['203.0.113.255', true],
      ['2001:db8:ffff::1', true],
      ['198.51.100.1, 203.0.113.5', true],
      ['203.0.113.5, 198.51.100.1', false],
    ]
    for (const [address, isAllowed] of CASES) {
      it(`${isAllowed ? 'takes' : 'refuses'} ${address}, as the trusted proxy says it`, async () => {
        const account = await limited({ allowedIps: RANGES })
        const replies = [
          await get(`${gateway.url}/v1/models`, account.key, from(address)),
          await get(`${gateway.url}/v1/key`, account.key, from(address)),
          await post(`${gateway.url}${IMAGES}`, account.key, imageBody(prompted()), { ...from(address), ...ASYNC }),
        ]
        if (isAllowed) return expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 202])
        for (const reply of replies) expectRefused(reply, 403, 'ip_not_allowed')
      })
    }

    it('folds its refusals into one record a minute, since no rate limit comes before it', async () => {
      const account = await limited({ allowedIps: RANGES })
      for (let request = 0; request < 5; request++) await image(gateway, account, 'x')
      const rows = await gateway.db('calls').where({ account_id: account.id }).select('error_type', 'count')
      expect(rows.length).to.be.at.most(2)
      expect(rows.reduce((sum, { count }) => sum + Number(count), 0)).to.equal(5)
    })
  })

  describe('a rate limit', () => {
    it('applies within a second to a key that was used before, and to its refusals at once', async () => {
      const account = await anAccount(gateway.db, 10_000)
      expect((await image(gateway, account, prompted())).status).to.equal(200)
      await changeKey(gateway.db, account.keyId, { rateLimit: 1 })
      const limitOf = async () => (await image(gateway, account, prompted())).headers.get('x-ratelimit-limit-requests')
      await until('the limit to apply', async () => (await limitOf()) === '1')
      expectRefused(await image(gateway, account, prompted()), 429, 'rate_limited')
      await changeKey(gateway.db, account.keyId, { rateLimit: null })
      expect((await image(gateway, account, prompted())).status).to.equal(200)
    })

    it('of a key applies beside that of its account, and headers show the one that leaves less', async () => {
      const account = await limited({ rateLimit: 2 })
      const free = await createKey(gateway.db, account.id, 'free')
      const left = (reply: Reply) =>
        ['limit', 'remaining'].map((what) => reply.headers.get(`x-ratelimit-${what}-requests`))
      const counted = (key: string) => get(`${gateway.url}/v1/key`, key)
      expect(left(await counted(account.key))).to.deep.equal(['2', '1'])
      expect((await get(`${gateway.url}/v1/key`, account.key)).status).to.equal(200)
      const refused = await image(gateway, account, prompted())
      expectRefused(refused, 429, 'rate_limited')
      expect(left(refused)).to.deep.equal(['2', '0'])
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
      const limit = gateway.config.GATEWAY_RATE_LIMIT
      // What the key was refused has not been counted for the account.
      expect(left(await counted(free.secret))).to.deep.equal([String(limit), String(limit - 3)])
      await changeKey(gateway.db, account.keyId, { rateLimit: 4 })
      expect(left(await counted(account.key))).to.deep.equal(['4', '0'])
    })
  })

  describe('a limit of open calls', () => {
    it('is 429 beyond it, and leaves other keys alone', async () => {
      const account = await limited({ maxOutstanding: 1 })
      const slow = prompted('[hold]')
      const running = image(gateway, account, slow)
      await until('the upstream to have it', () => gateway.sandbox.open(slow).open > 0)
      expectRefused(await image(gateway, account, prompted()), 429, 'rate_limited')
      const free = await createKey(gateway.db, account.id, 'free')
      expect((await image(gateway, { key: free.secret }, prompted(), {}, ASYNC)).status).to.equal(202)
      gateway.sandbox.release(slow)
      await running
      expect((await image(gateway, account, prompted())).status).to.equal(200)
    })
  })

  describe('a rotation', () => {
    it('with a grace lets both secrets work, without one the new one alone, for the same key', async () => {
      const account = await anAccount(gateway.db, 1000)
      const rotated = (await rotateKey(gateway.db, account.keyId, 60))!
      for (const key of [account.key, rotated.secret]) {
        expect((await image(gateway, { key }, prompted())).status).to.equal(200)
        const shown = await get(`${gateway.url}/v1/key`, key)
        expect(shown.json.key).to.include({ id: rotated.key.id, hint: rotated.key.hint })
        expect(Date.parse(shown.json.key.previousSecretUntil)).to.be.greaterThan(Date.now() + 50_000)
      }
      await gateway.db('api_keys').where({ id: account.keyId }).update({ previous_until: gateway.db.fn.now() })
      expectRefused(await get(`${gateway.url}/v1/models`, account.key), 401, 'unauthorized')
      const last = (await rotateKey(gateway.db, account.keyId, 0))!
      expectRefused(await get(`${gateway.url}/v1/models`, rotated.secret), 401, 'unauthorized')
      expect((await post(`${gateway.url}${CHAT}`, last.secret, chatBody('x'))).status).to.equal(200)
    })
  })

  it('are shown to their holder by GET /v1/key', async () => {
    const account = await limited({
      models: ['sandbox-image'],
      rateLimit: 7,
      maxOutstanding: 3,
      budget: { credits: 100, period: 'month' },
      expiresAt: new Date('2999-01-01T00:00:00Z'),
    })
    await image(gateway, account, prompted())
    const { json } = await get(`${gateway.url}/v1/key`, account.key)
    expect(json.key).to.deep.include({
      name: 'test',
      models: ['sandbox-image'],
      modalities: null,
      allowedIps: null,
      rateLimit: 7,
      maxOutstanding: 3,
      expiresAt: '2999-01-01T00:00:00.000Z',
      revokedAt: null,
      previousSecretUntil: null,
    })
    expect(json.key.budget).to.include({ credits: 100, period: 'month', used: 40, remaining: 60 })
    expect(new Date(json.key.budget.resetsAt).getUTCDate()).to.equal(1)
  })
})
