import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { anOrder, opened, rowOf, verbs, wordOf } from './opening.ts'
import { useDb } from '../../support/database.ts'

describe('the charge of an account in a group', () => {
  const db = useDb({ isOwn: true })

  const aMember = async (group: string | null) => {
    const account = await anAccount(db, 1000)
    await db('accounts').where({ id: account.id }).update({ group_name: group })
    return account
  }

  it('is refused at the price of another group, or of none, and keeps the group', async () => {
    const calls = verbs(db)
    for (const [is, asked, word] of [
      ['partner', 'partner', 'opened'],
      ['partner', 'staff', 'group_changed'],
      ['partner', null, 'group_changed'],
      [null, 'partner', 'group_changed'],
      [null, null, 'opened'],
      [null, undefined, 'opened'],
    ] as const) {
      const order = anOrder(await aMember(is), 10, { group: asked })
      expect(wordOf(await calls.open(order)), `${is} at ${asked}`).to.equal(word)
      if (word === 'opened') expect(await rowOf(db, order.id)).to.include({ group_name: asked ?? null })
      else expect(await rowOf(db, order.id)).to.equal(undefined)
    }
  })

  it('is bounded by the open calls of its own request, else by those of every account', async () => {
    const account = await aMember(null)
    const calls = verbs(db, 2)
    await opened(calls, account, 1)
    expect(wordOf(await calls.open(anOrder(account, 1, { maxOutstanding: 1 })))).to.equal('too_many_calls')
    await opened(calls, account, 1)
    expect(wordOf(await calls.open(anOrder(account, 1)))).to.equal('too_many_calls')
    expect(wordOf(await calls.open(anOrder(account, 1, { maxOutstanding: 3 })))).to.equal('opened')
  })
})
