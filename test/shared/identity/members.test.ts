import { expect } from 'chai'
import { openAccount } from '../../../src/shared/identity/accounts.ts'
import { removeMember } from '../../../src/shared/identity/member-changes.ts'
import { addMember, lockForMembers, ownerOf } from '../../../src/shared/identity/members.ts'
import { newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, UserId } from '../../../src/shared/platform/ids.ts'
import { actFor, findSession, openSession } from '../../../src/shared/identity/sessions.ts'
import { findUser } from '../../../src/shared/identity/users.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { aPerson, aUser, logIn, useConsole } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'

describe('the members of accounts', () => {
  const web = useConsole()

  const accountOf = ({ id }: Person): AccountId => parseId('account', id)!
  const userOf = async (person: Person): Promise<UserId> => (await ownerOf(web.db, accountOf(person)))!
  const shown = async (token: string) => (await web.get('/api/account', token)).json

  /** Opens another account of a person, with these credits. */
  async function anotherAccount(owner: UserId, credits: number): Promise<AccountId> {
    const id = newId('account')
    await web.db.transaction(async (trx) => {
      await openAccount(trx, id, { kind: 'organisation', name: 'Another' })
      await addMember(trx, { userId: owner, accountId: id }, 'owner')
    })
    await aGrant(web.db, id, { amount: credits })
    return id
  }

  /** The name of the constraint that refuses a change. */
  async function refusal(change: Promise<unknown>): Promise<string | undefined> {
    return change.then(
      () => undefined,
      (error: { constraint?: string }) => error.constraint,
    )
  }

  /** A session of a user that acts for an account. */
  async function sessionFor(userId: UserId, accountId: AccountId): Promise<string> {
    const { password_hash: passwordHash } = (await findUser(web.db, userId))!
    return (await openSession(web.db, { userId, accountId, passwordHash, userAgent: '', ip: '' }))!.token
  }

  it('are made by a registration with the user and the account, each with its own id', async () => {
    const person = await aPerson(web)
    const userId = await userOf(person)
    expect(userId).not.to.equal(accountOf(person))
    expect(await findUser(web.db, userId)).to.include({
      email: person.email,
      account_id: accountOf(person),
      credits: 0,
    })
    expect(await web.db('members').where({ user_id: userId }).select('account_id', 'role')).to.deep.equal([
      { account_id: accountOf(person), role: 'owner' },
    ])
  })

  it('have one owner: the database refuses a second', async () => {
    const [one, other] = [await aUser(web), await aUser(web)]
    const second = { userId: await userOf(other), accountId: accountOf(one) }
    expect(await refusal(web.db.transaction((trx) => addMember(trx, second, 'owner')))).to.equal('members_one_owner')
  })

  it('can act for several accounts: a login for the first, a session for the one that it shows', async () => {
    const person = await aPerson(web)
    const userId = await userOf(person)
    const second = await anotherAccount(userId, 70)
    expect(await shown(await logIn(web, person.email))).to.deep.include({ credits: 0, debt: 0, running: 0 })
    const token = await sessionFor(userId, second)
    const account = await shown(token)
    expect(account).to.include({ credits: 70 })
    expect(account.user).to.include({ id: publicId('account', accountOf(person)), email: person.email, credits: 70 })
    const { json } = await web.post('/api/keys', { name: 'of the second' }, token)
    expect(
      await web
        .db('api_keys')
        .where({ id: parseId('key', json.key.id) })
        .first('account_id'),
    ).to.deep.equal({ account_id: second })
    expect((await web.get('/api/keys', person.token)).json.data).to.deep.equal([])
    await expectBooksToBalance(web.db)
  })

  it('are changed while a session of theirs begins to act for the account: it waits for that', async () => {
    const person = await aUser(web)
    const membership = { user_id: await userOf(person), account_id: await anotherAccount(await userOf(person), 1) }
    const session = (await findSession(web.db, person.token))!
    const change = await web.db.transaction()
    await lockForMembers(change, membership.account_id)
    const switching = actFor(web.db, session, membership.account_id)
    await untilItWaits(web.db, '%"isActive"%')
    await change('members').where(membership).update({ role: 'owner' })
    await change.commit()
    expect(await switching).to.equal('switched')
  })

  it('cannot have a session for another account, and lose theirs with their membership', async () => {
    const [one, other] = [await aUser(web), await aUser(web)]
    const userId = await userOf(one)
    expect(await refusal(sessionFor(userId, accountOf(other)))).to.equal('sessions_member_fkey')
    const second = await anotherAccount(userId, 1)
    const token = await sessionFor(userId, second)
    expect((await findSession(web.db, token))?.accountId).to.equal(second)
    await web.db.transaction(async (trx) => {
      await trx('members').where({ user_id: userId, account_id: second }).update({ role: 'admin' })
      await addMember(trx, { userId: await userOf(other), accountId: second }, 'owner')
    })
    await removeMember(web.db, { userId, accountId: second }, userId)
    expect(await findSession(web.db, token)).to.equal(null)
    expect((await web.get('/api/auth/me', one.token)).status, 'the session for the other account').to.equal(200)
  })

  it('leave no account without an owner: the database refuses it', async () => {
    const one = await aPerson(web)
    const of = { user_id: await userOf(one), account_id: accountOf(one) }
    expect(await refusal(web.db('members').where(of).delete())).to.equal('members_keep_an_owner')
    const second = await anotherAccount(of.user_id, 1)
    const theirs = web.db('members').where({ account_id: second })
    expect(await refusal(theirs.update({ role: 'admin' }))).to.equal('members_keep_an_owner')
    expect(await refusal(web.db('members').where(of).update({ role: 'member' }))).to.equal(
      'members_personal_accounts_have_an_owner_alone',
    )
  })

  it('have one account of their own: the database refuses a second', async () => {
    const one = await aUser(web)
    const userId = await userOf(one)
    const made = web.db.transaction(async (trx) => {
      const accountId = newId('account')
      await openAccount(trx, accountId)
      await addMember(trx, { userId, accountId }, 'owner')
    })
    expect(await refusal(made)).to.equal('members_one_personal_account')
  })
})
