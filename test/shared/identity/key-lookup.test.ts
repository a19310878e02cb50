import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { newSecret, revokeKey, rotateKey } from '../../../src/shared/identity/api-keys.ts'
import { createKeyLookup } from '../../../src/shared/identity/key-lookup.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { openCalls } from '../../../src/shared/calls/statements.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { anOrder } from '../calls/opening.ts'
import { useDb } from '../../support/database.ts'

describe('the keys of simultaneous requests', () => {
  const db = useDb()

  it('are each judged for the address of their own request, however often they are asked for', async () => {
    const [first, second] = [await anAccount(db), await anAccount(db)]
    await changeKey(db, first.keyId, { allowedIps: ['192.0.2.1'] })
    const unknown = newSecret()
    const keys = createKeyLookup(db)
    const asked = Array.from({ length: 5 }, () => [
      [first.key, '192.0.2.1'],
      [second.key, '192.0.2.2'],
      [first.key, '192.0.2.2'],
      [unknown, '192.0.2.1'],
      [first.key, ''],
    ]).flat() as [string, string][]
    const found = await Promise.all(asked.map(([secret, address]) => keys.find(secret, address)))
    const seen = found.map((one) => one && [one.keyId, one.accountId, one.address, one.addressAllowed])
    const expected = [
      [first.keyId, first.id, '192.0.2.1', true],
      [second.keyId, second.id, '192.0.2.2', true],
      [first.keyId, first.id, '192.0.2.2', false],
      null,
      [first.keyId, first.id, '', false],
    ]
    expect(seen).to.deep.equal(Array.from({ length: 5 }, () => expected).flat())
  })
})

describe('a recent holder', () => {
  const db = useDb()

  it('is remembered for one second after a look-up, for the address of that look-up alone', async () => {
    const account = await anAccount(db)
    const clock = { at: 1, now: () => clock.at }
    const keys = createKeyLookup(db, clock)
    expect(keys.recent(account.key, '192.0.2.1')).to.equal(undefined)
    const found = await keys.find(account.key, '192.0.2.1')
    clock.at += 999
    expect(keys.recent(account.key, '192.0.2.1')).to.deep.equal(found)
    expect(keys.recent(account.key, '192.0.2.2')).to.equal(undefined)
    clock.at += 2
    expect(keys.recent(account.key, '192.0.2.1')).to.equal(undefined)
  })

  it('is forgotten by the look-up that finds it revoked, elsewhere or suspended', async () => {
    const clock = { now: () => 1 }
    for (const spoil of [
      ({ id, keyId }: TestAccount) => revokeKey(db, allOf(id), keyId),
      ({ keyId }: TestAccount) => changeKey(db, keyId, { allowedIps: ['192.0.2.1'] }),
      ({ id }: TestAccount) => setAccountStatus(db, null, id, 'suspended'),
    ]) {
      const account = await anAccount(db)
      const keys = createKeyLookup(db, clock)
      await keys.find(account.key, '192.0.2.9')
      await spoil(account)
      expect(keys.recent(account.key, '192.0.2.9')?.keyId).to.equal(account.keyId)
      await keys.find(account.key, '192.0.2.9')
      expect(keys.recent(account.key, '192.0.2.9')).to.equal(undefined)
    }
  })
})

describe('whether a key is valid', () => {
  const db = useDb()

  /** Which of its first secret and of the ones after it are good, of a key that was changed so. */
  const CASES: [what: string, change: (account: TestAccount) => Promise<unknown>, good: boolean[]][] = [
    ['as it was made', () => Promise.resolve(), [true]],
    ['revoked', ({ id, keyId }) => revokeKey(db, allOf(id), keyId), [false]],
    ['before its end', ({ keyId }) => changeKey(db, keyId, { expiresAt: new Date(Date.now() + 60_000) }), [true]],
    ['past its end', ({ keyId }) => changeKey(db, keyId, { expiresAt: new Date(Date.now() - 1) }), [false]],
    ['rotated with a grace', ({ keyId }) => rotateKey(db, keyId, 60), [true, true]],
    ['rotated without one', ({ keyId }) => rotateKey(db, keyId, 0), [false, true]],
    [
      'rotated, the grace over',
      async ({ keyId }) => {
        const rotated = await rotateKey(db, keyId, 60)
        await db('api_keys').where({ id: keyId }).update({ previous_until: db.fn.now() })
        return rotated
      },
      [false, true],
    ],
  ]
  for (const [what, change, good] of CASES) {
    it(`is the same for a look-up and for a charge of a key ${what}`, async () => {
      const account = await anAccount(db, 10)
      const keys = createKeyLookup(db)
      await keys.find(account.key, '')
      const rotated = (await change(account)) as { secret: string } | undefined
      const secrets = good.length === 1 ? [account.key] : [account.key, rotated!.secret]
      const found = await Promise.all(secrets.map((secret) => keys.find(secret, '')))
      expect(found.map((one) => one?.secretVersion ?? null)).to.deep.equal(good.map((is, at) => (is ? at + 1 : null)))
      const orders = secrets.map((_, at) => anOrder(account, 1, { secretVersion: at + 1 }))
      const opened = await openCalls(db, orders, { maxOutstanding: 10 })
      expect(opened.map(({ outcome }) => outcome)).to.deep.equal(good.map((is) => (is ? 'opened' : 'unauthorized')))
      await expectBooksToBalance(db)
    })
  }

  it('never is for a key of another account', async () => {
    const [account, other] = [await anAccount(db, 10), await anAccount(db, 10)]
    const [answer] = await openCalls(db, [anOrder({ ...account, keyId: other.keyId }, 1)], { maxOutstanding: 10 })
    expect(answer!.outcome).to.equal('unauthorized')
  })
})
