import { expect } from 'chai'
import { allOf } from '../../../src/shared/identity/members.ts'
import { revokeKey } from '../../../src/shared/identity/api-keys.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import type { KeyChanges } from '../../../src/shared/identity/key-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import type { OpenRequest } from '../../../src/shared/calls/types.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, anOrder, opened, refund, verbs, wordOf, wordsOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

describe('the limits of a key, judged by the charge', () => {
  const db = useBooks({ pool: 20 })

  async function limited(changes: KeyChanges, credits = 10_000): Promise<TestAccount> {
    const account = await anAccount(db, credits)
    await changeKey(db, account.keyId, changes)
    return account
  }

  describe('a scope', () => {
    const CASES: [what: string, changes: KeyChanges, order: Partial<OpenRequest>, word: string][] = [
      ['a model of its list', { models: ['a', 'some-image'] }, {}, 'opened'],
      ['another model', { models: ['a'] }, {}, 'model_not_allowed'],
      ['a modality of its list', { modalities: ['chat', 'image'] }, {}, 'opened'],
      ['another modality', { modalities: ['chat', 'video'] }, {}, 'model_not_allowed'],
      [
        'a model of its list in another modality',
        { models: ['some-image'], modalities: ['chat'] },
        {},
        'model_not_allowed',
      ],
      ['an address in its ranges', { allowedIps: ['192.0.2.0/24'] }, { address: '192.0.2.255' }, 'opened'],
      ['an address beside them', { allowedIps: ['192.0.2.0/24'] }, { address: '192.0.3.0' }, 'ip_not_allowed'],
      [
        'an IPv6 address in them',
        { allowedIps: ['10.0.0.0/8', '2001:db8::/32'] },
        { address: '2001:db8:ffff::1' },
        'opened',
      ],
      ['an address of another family', { allowedIps: ['::/0'] }, { address: '192.0.2.1' }, 'ip_not_allowed'],
      ['no known address', { allowedIps: ['0.0.0.0/0', '::/0'] }, { address: null }, 'ip_not_allowed'],
      ['an hour before its end', { expiresAt: new Date(Date.now() + 3_600_000) }, {}, 'opened'],
      ['after its end', { expiresAt: new Date(Date.now() - 1) }, {}, 'unauthorized'],
    ]
    for (const [what, changes, order, word] of CASES) {
      it(`answers ${word} to ${what}, also beside a key without one in the same batch`, async () => {
        const account = await limited(changes)
        const free = { ...account, keyId: (await createKey(db, account.id, 'free')).id }
        const batch = [anOrder(free, 1), anOrder(account, 1, order), anOrder(free, 1)]
        expect(await wordsOf(db, batch)).to.deep.equal(['opened', word, 'opened'])
      })
    }
  })

  it('are what they are at the charge, whatever was looked up, and nothing is charged against them', async () => {
    const [account, other] = [await anAccount(db, 100), await anAccount(db, 100)]
    const order = anOrder(account, 1)
    expect(await wordsOf(db, [anOrder(other, 1), order])).to.deep.equal(['opened', 'opened'])
    const again = () => wordsOf(db, [anOrder(other, 1), anOrder(account, 1), order])
    await setAccountStatus(db, null, account.id, 'suspended')
    // The earlier try is given its call, whatever holds now.
    expect(await again()).to.deep.equal(['opened', 'account_suspended', 'exists'])
    await revokeKey(db, allOf(account.id), account.keyId)
    expect(await again()).to.deep.equal(['opened', 'unauthorized', 'exists'])
    expect(await db('accounts').where({ id: account.id }).first('credits')).to.deep.equal({ credits: 99 })
  })

  describe('a limit of open calls', () => {
    it('holds for its key alone, counts what is open when it is set, and is free again when a call ends', async () => {
      const account = await anAccount(db, 1000)
      const calls = verbs(db)
      const first = await opened(calls, account, 1)
      await changeKey(db, account.keyId, { maxOutstanding: 2 })
      const second = await opened(calls, account, 1)
      expect(wordOf(await calls.open(anOrder(account, 1)))).to.equal('too_many_calls_of_key')
      const free = { ...account, keyId: (await createKey(db, account.id, 'free')).id }
      await opened(calls, free, 1)
      await Promise.all([calls.settle(first, 'image', aResult(1)), refund(db, second)])
      const words = (await Promise.all(Array.from({ length: 5 }, () => calls.open(anOrder(account, 1))))).map(wordOf)
      expect(words.filter((word) => word === 'opened').length).to.equal(2)
      expect(words.filter((word) => word === 'too_many_calls_of_key').length).to.equal(3)
      await changeKey(db, account.keyId, { maxOutstanding: null })
      await opened(calls, account, 1)
    })
  })
})
