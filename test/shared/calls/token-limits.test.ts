import { expect } from 'chai'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import type { Calls } from '../../../src/shared/calls/calls.ts'
import { openCalls } from '../../../src/shared/calls/statements.ts'
import type { OpenRequest } from '../../../src/shared/calls/types.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { chatCost } from '../../../src/shared/terms/pricing.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, anOrder, opened, refund, verbs, wordOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const PRICE = { input: 1, output: 1, perTokens: 1, minimum: 1 }

/** A chat that reserves these tokens, half of them for its output. */
const aChat = (tokens: number): Partial<OpenRequest> => ({
  modality: 'chat',
  price: PRICE,
  estimate: { input: tokens / 2, output: tokens / 2 },
})

const chatOf = (account: Pick<TestAccount, 'id' | 'keyId'>, tokens: number, more: Partial<OpenRequest> = {}) =>
  anOrder(account, tokens, { ...aChat(tokens), ...more })

const openChat = (calls: Calls, account: TestAccount, tokens: number): Promise<CallId> =>
  opened(calls, account, tokens, aChat(tokens))

const settle = (calls: Calls, id: CallId, tokens: Tokens) =>
  calls.settle(id, 'chat', { ...aResult(chatCost(PRICE, tokens)), tokens })

describe('the tokens of a minute, judged by the charge', () => {
  const db = useBooks({ pool: 20 })

  const limit = (account: TestAccount, tokensPerMinute: number | null) =>
    db.transaction((trx) => setLimitsOf(trx, account.id, { tokensPerMinute }))

  async function limited(ofAccount: number | null, ofKey: number | null = null): Promise<TestAccount> {
    const account = await anAccount(db, 100_000)
    if (ofAccount !== null) await limit(account, ofAccount)
    if (ofKey !== null) await changeKey(db, account.keyId, { tokensPerMinute: ofKey })
    return account
  }

  type Window = { token_window_at: Date | null; token_window_used: number }
  const windowOf = async (table: 'accounts' | 'api_keys', id: string): Promise<Window> =>
    db(table).where({ id }).first<Window>('token_window_at', 'token_window_used')
  const usedOf = async ({ id }: TestAccount): Promise<number> => (await windowOf('accounts', id)).token_window_used
  const usedOfKey = async ({ keyId }: Pick<TestAccount, 'keyId'>): Promise<number> =>
    (await windowOf('api_keys', keyId)).token_window_used

  /** Lets a minute pass for the windows of an account: what is reserved from now on begins others. */
  async function letMinutePass({ id }: TestAccount): Promise<void> {
    const earlier = { token_window_at: db.raw(`token_window_at - interval '61 seconds'`) }
    await db('accounts').where({ id }).update(earlier)
    await db('api_keys').where({ account_id: id }).update(earlier)
  }

  for (const [whose, account, key] of [
    ['an account, beside a wider one of its key', 5049, 90_000],
    ['a key, beside a wider one of its account', 90_000, 5049],
  ] as const) {
    it(`open exactly 50 of 200 parallel calls with room for 50, at two processes: of ${whose}`, async () => {
      const caller = await limited(account, key)
      const processes = [verbs(db), verbs(db)]
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, at) => processes[at % 2]!.open(chatOf(caller, 100))),
      )
      const words = outcomes.map(wordOf)
      expect(words.filter((word) => word === 'opened').length).to.equal(50)
      expect(words.filter((word) => word === 'too_many_tokens').length).to.equal(150)
      expect([await usedOf(caller), await usedOfKey(caller)]).to.deep.equal([5000, 5000])
    })
  }

  it('are counted call by call in a batch, for its account and for each of its keys', async () => {
    const account = await limited(100, 40)
    const other = { ...account, keyId: (await createKey(db, account.id, 'other')).id }
    const free = await anAccount(db, 1000)
    const orders = [account, account, other, free, account, other, other].map((one) => chatOf(one, 30))
    const rows = await openCalls(db, orders, { maxOutstanding: 1000 })
    expect(rows.map(({ outcome }) => outcome)).to.deep.equal(
      'opened too_many_tokens opened opened too_many_tokens opened too_many_tokens'.split(' '),
    )
    expect(rows.map((row) => [row.account_tokens?.remaining, row.key_tokens?.remaining])).to.deep.equal([
      [70, 10],
      [70, 10],
      [40, undefined],
      [undefined, undefined],
      [40, 10],
      [10, undefined],
      [10, undefined],
    ])
    expect([await usedOf(account), await usedOfKey(account), await usedOfKey(other)]).to.deep.equal([90, 30, 0])
  })

  it('come back with a refund, and are corrected to what a call really had, cached ones too', async () => {
    const account = await limited(1000, 1000)
    const calls = verbs(db)
    const [failing, cheap, dear] = [
      await openChat(calls, account, 400),
      await openChat(calls, account, 300),
      await openChat(calls, account, 200),
    ]
    expect(await usedOf(account)).to.equal(900)
    await refund(db, failing)
    expect([await usedOf(account), await usedOfKey(account)]).to.deep.equal([500, 500])
    await settle(calls, cheap, { input: 20, cached: 30, written: 10, output: 5 })
    expect([await usedOf(account), await usedOfKey(account)]).to.deep.equal([265, 265])
    await settle(calls, dear, { input: 150, output: 180 })
    expect([await usedOf(account), await usedOfKey(account)], 'more than was reserved').to.deep.equal([395, 395])
  })

  it('leave a later window alone when a call of an earlier one ends', async () => {
    const account = await limited(1000, 1000)
    const calls = verbs(db)
    const [failing, dear] = [await openChat(calls, account, 500), await openChat(calls, account, 400)]
    await letMinutePass(account)
    const outcome = await calls.open(chatOf(account, 300))
    expect(outcome).to.deep.include({ opened: true })
    await refund(db, failing)
    await settle(calls, dear, { input: 300, output: 390 })
    expect([await usedOf(account), await usedOfKey(account)]).to.deep.equal([300, 300])
  })

  it('are whole again a minute after the first of them, and say when that is', async () => {
    const account = await limited(100)
    const calls = verbs(db)
    const first = await calls.open(chatOf(account, 80))
    expect(first).to.deep.include({ tokens: [{ limit: 100, remaining: 20, resetSeconds: 60 }] })
    await db('accounts')
      .where({ id: account.id })
      .update({ token_window_at: db.raw(`token_window_at - interval '20 seconds'`) })
    const second = await calls.open(chatOf(account, 40))
    expect(second).to.deep.include({ refusal: 'too_many_tokens' })
    const [{ remaining, resetSeconds } = { remaining: -1, resetSeconds: -1 }] = 'tokens' in second ? second.tokens : []
    expect(remaining).to.equal(20)
    expect(resetSeconds).to.be.within(1, 40)
    await letMinutePass(account)
    expect(await calls.open(chatOf(account, 100))).to.deep.include({
      tokens: [{ limit: 100, remaining: 0, resetSeconds: 60 }],
    })
  })

  it('do not count pictures, which begin no window and are never refused for them', async () => {
    const account = await limited(100, 100)
    const calls = verbs(db)
    await calls.settle(await opened(calls, account, 40), 'image', aResult(40))
    expect(await windowOf('accounts', account.id)).to.deep.equal({ token_window_at: null, token_window_used: 0 })
    await openChat(calls, account, 100)
    await limit(account, 50)
    await opened(calls, account, 40)
    expect([await usedOf(account), await usedOfKey(account)]).to.deep.equal([100, 100])
  })

  it('count the input of embeddings, which have no output', async () => {
    const account = await limited(100)
    const embedding = { modality: 'embedding', price: PRICE, estimate: { input: 60, output: 0 } } as const
    const calls = verbs(db)
    const id = await opened(calls, account, 60, embedding)
    expect(wordOf(await calls.open(anOrder(account, 60, embedding)))).to.equal('too_many_tokens')
    await calls.settle(id, 'embedding', { ...aResult(40), tokens: { input: 40, output: 0 } })
    expect(await usedOf(account)).to.equal(40)
  })

  it('stay as they were estimated where nobody counted what a call had', async () => {
    const account = await limited(100)
    const calls = verbs(db)
    await calls.settle(await openChat(calls, account, 60), 'chat', aResult(60))
    expect(await usedOf(account)).to.equal(60)
  })

  it('count one call once, however often the same id is opened, and none that was known by its key', async () => {
    const account = await limited(1000)
    const idempotency = { idempotency: { key: 'once', seconds: 600 }, requestHash: 'ab'.repeat(32) }
    const order = chatOf(account, 100, idempotency)
    for (const calls of [verbs(db), verbs(db)]) await Promise.all([calls.open(order), calls.open(order)])
    await limit(account, 100)
    const again = await verbs(db).open(chatOf(account, 100, idempotency))
    expect(again).to.deep.equal({ opened: false, existing: order.id })
    expect(await usedOf(account)).to.equal(100)
  })

  it('are counted from when the limit is set, whatever calls are open, and not once it is lifted', async () => {
    const account = await anAccount(db, 10_000)
    const calls = verbs(db)
    const before = [await openChat(calls, account, 500), await openChat(calls, account, 500)] as const
    await limit(account, 100)
    await changeKey(db, account.keyId, { tokensPerMinute: 100 })
    await refund(db, before[0])
    const counted = await openChat(calls, account, 80)
    await settle(calls, before[1], { input: 10, output: 10 })
    expect([await usedOf(account), await usedOfKey(account)]).to.deep.equal([80, 80])
    await limit(account, null)
    await changeKey(db, account.keyId, { tokensPerMinute: null })
    const free = await openChat(calls, account, 5000)
    await limit(account, 100)
    for (const id of [counted, free]) await refund(db, id)
    expect(await windowOf('accounts', account.id)).to.deep.equal({ token_window_at: null, token_window_used: 0 })
  })

  it('go on in their window when the limit changes', async () => {
    const account = await limited(100)
    const calls = verbs(db)
    await openChat(calls, account, 80)
    await limit(account, 200)
    await openChat(calls, account, 100)
    await limit(account, 50)
    expect(await calls.open(chatOf(account, 2))).to.deep.include({
      refusal: 'too_many_tokens',
      tokens: [{ limit: 50, remaining: 0, resetSeconds: 60 }],
    })
    expect(await usedOf(account)).to.equal(180)
  })

  it('stay exact while calls open, end and fail, and limits are set and lifted', async () => {
    const account = await limited(3000)
    const processes = [verbs(db), verbs(db)]
    const sizes = [null, 2000, 3000, null, 2500]
    await Promise.all([
      ...Array.from({ length: 60 }, async (_, at) => {
        const calls = processes[at % 2]!
        const order = chatOf(account, 100)
        if (!(await calls.open(order)).opened) return
        if (at % 3 === 0) await refund(db, order.id)
        else await settle(calls, order.id, { input: 10, output: at % 3 === 1 ? 5 : 99 })
      }),
      ...sizes.map(async (size) => limit(account, size)),
      ...sizes.map(async (size) => changeKey(db, account.keyId, { tokensPerMinute: size })),
    ])
  })

  it('cost an account without such a limit no statement: neither its windows nor its keys are touched', async () => {
    const account = await anAccount(db, 1000)
    const calls = verbs(db)
    // A function that would fail if it was run.
    await db.raw('ALTER FUNCTION correct_tokens RENAME TO correct_tokens_away')
    try {
      await settle(calls, await openChat(calls, account, 100), { input: 10, output: 10 })
    } finally {
      await db.raw('ALTER FUNCTION correct_tokens_away RENAME TO correct_tokens')
    }
    expect(await windowOf('accounts', account.id)).to.deep.equal({ token_window_at: null, token_window_used: 0 })
  })
})
