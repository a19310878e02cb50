import { expect } from 'chai'
import { claimCall } from '../../../src/shared/calls/numbered-retries.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { changeMember, removeMember } from '../../../src/shared/identity/member-changes.ts'
import type { Membership } from '../../../src/shared/identity/members.ts'
import { listMembers } from '../../../src/shared/identity/shown-member.ts'
import type { Budget } from '../../../src/shared/identity/budgets.ts'
import { aMember, anOrganisation, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { aResult, anOrder, opened, refund, spent, verbs, wordOf, wordsOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

describe('the budget of a member, judged by the charge', () => {
  const db = useBooks({ pool: 20 })
  before(withinOneDay)

  /** Another key of a member. */
  async function anotherKey(holder: TestMember, budget?: Budget): Promise<TestMember> {
    const [sessionId] = await db('sessions').where({ user_id: holder.userId }).pluck('id')
    const { id: keyId } = await createKey(db, holder.id, 'k', { budget }, { userId: holder.userId, sessionId })
    return { ...holder, keyId }
  }

  const memberOf = ({ id, userId }: TestMember): Membership => ({ userId, accountId: id })

  const usedOf = async ({ id, userId }: TestMember): Promise<number> =>
    (await listMembers(db, { accountId: id, memberId: userId }))[0]!.budget!.used

  it('counts all keys of one member in one batch, and no other member', async () => {
    const organisation = await anOrganisation(db, 10_000)
    const [one, other, free] = [
      await aMember(db, organisation, { budget: { credits: 10, period: 'day' } }),
      await aMember(db, organisation, { budget: { credits: 20, period: 'total' } }),
      await aMember(db, organisation),
    ]
    const second = await anotherKey(one)
    const batch = [one, second, one, other, free, other, second, free].map((key) => anOrder(key, 5))
    expect(await wordsOf(db, batch)).to.deep.equal(
      'opened opened member_budget_in_use opened opened opened member_budget_in_use opened'.split(' '),
    )
    expect([await usedOf(one), await usedOf(other)]).to.deep.equal([10, 10])
  })

  it('applies next to that of the key: the tighter decides, and where both are spent the member is told', async () => {
    const organisation = await anOrganisation(db, 10_000)
    const member = await aMember(db, organisation, { budget: { credits: 30, period: 'day' } })
    const key = await anotherKey(member, { credits: 10, period: 'month' })
    const calls = verbs(db)
    const tried = async (holder: TestMember, amount: number) => wordOf(await calls.open(anOrder(holder, amount)))
    expect(await tried(key, 11)).to.equal('key_budget_exceeded')
    await spent(calls, key, 10)
    expect(await tried(key, 1)).to.equal('key_budget_exceeded')
    const holding = await opened(calls, member, 20)
    expect(await tried(key, 1), 'the key has spent its own').to.equal('key_budget_exceeded')
    expect(await tried(member, 1)).to.equal('member_budget_in_use')
    await calls.settle(holding, 'image', aResult(20))
    expect([await tried(key, 1), await tried(member, 1)]).to.deep.equal(Array(2).fill('member_budget_exceeded'))
    await changeMember(db, memberOf(member), { budget: { credits: 31, period: 'day' } }, organisation.userId)
    expect([await tried(key, 1), await tried(member, 1)]).to.deep.equal(['key_budget_exceeded', 'opened'])
    expect(await usedOf(member)).to.equal(31)
  })

  it('refuses for good what exceeds the balance, even if calls hold the budgets; else names the budget', async () => {
    const organisation = await anOrganisation(db, 10)
    const member = await aMember(db, organisation, { budget: { credits: 30, period: 'day' } })
    const key = await anotherKey(member, { credits: 30, period: 'month' })
    const tried = async (amount: number) => wordOf(await verbs(db).open(anOrder(key, amount)))
    await opened(verbs(db), key, 9)
    expect(await tried(11)).to.equal('insufficient_credits')
    expect(await tried(2)).to.equal('credits_in_use')
    await changeKey(db, key.keyId, { budget: { credits: 10, period: 'month' } })
    expect(await tried(2)).to.equal('key_budget_in_use')
    await changeMember(db, memberOf(member), { budget: { credits: 10, period: 'day' } }, organisation.userId)
    expect(await tried(2)).to.equal('member_budget_in_use')
  })

  it('ends with the membership, while the calls that run end as they would', async () => {
    const organisation = await anOrganisation(db, 10_000)
    const member = await aMember(db, organisation, { budget: { credits: 100, period: 'day' } })
    const [settled, refunded] = [await opened(verbs(db), member, 30), await opened(verbs(db), member, 20)]
    await removeMember(db, memberOf(member), organisation.userId)
    expect(wordOf(await verbs(db).open(anOrder(member, 1)))).to.equal('unauthorized')
    expect((await verbs(db).settle(settled, 'image', aResult(25)))?.status).to.equal('succeeded')
    expect((await refund(db, refunded))?.status).to.equal('failed')
    expect(await balanceOf(db, organisation.id)).to.equal(10_000 - 25)
    expect(await db('budgets').where({ account_id: organisation.id })).to.deep.equal([])
  })

  it('leaves each member their own calls: a numbered retry joins none of another', async () => {
    const organisation = await anOrganisation(db, 10_000)
    const [one, other] = [await aMember(db, organisation), await aMember(db, organisation)]
    const requestHash = 'ab'.repeat(32)
    const call = await opened(verbs(db), one, 5, { requestHash })
    await verbs(db).markAbandoned(call)
    const retried = ({ id, userId, keyId }: TestMember) =>
      claimCall(db, { accountId: id, userId, keyId, requestHash, replyTo: 'here' }, [])
    expect([await retried(other), await retried(one)]).to.deep.equal([null, call])
  })

  it('is told of by mails to the member and the admins, once a mark', async () => {
    const organisation = await anOrganisation(db, 10_000)
    const member = await aMember(db, organisation, { budget: { credits: 10, period: 'day' } })
    const [admin, stranger] = [await aMember(db, organisation), await aMember(db, organisation)]
    await changeMember(db, memberOf(admin), { role: 'admin' }, organisation.userId)
    const people = await db('members').where({ account_id: organisation.id }).pluck('user_id')
    await db('users').whereIn('id', people).update({ email_verified_at: db.fn.now() })
    const mailed = () =>
      db('mails').whereIn('user_id', people).where({ kind: 'budget' }).orderBy('id').select('user_id', 'details')
    await spent(verbs(db), member, 8)
    expect((await mailed()).map(({ details }) => details.percent)).to.deep.equal([80, 80, 80])
    await spent(verbs(db), member, 1)
    expect(await mailed()).to.have.length(3)
    await spent(verbs(db), member, 1)
    const all = await mailed()
    expect(all.map(({ details }) => details.percent)).to.deep.equal([80, 80, 80, 100, 100, 100])
    expect(all.map(({ user_id: user }) => user)).not.to.include(stranger.userId)
    expect(all.map(({ user_id: user }) => user)).to.include.members([member.userId, admin.userId])
  })
})
