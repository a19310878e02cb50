import { expect } from 'chai'
import { PASSWORD, aUser, anEmail, logIn, useConsole } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { errorOf, organising } from './support/organising.ts'

const INVALID = [400, 'invalid_request']
const FORBIDDEN = [403, 'forbidden']
const NOT_FOUND = [404, 'not_found']

describe('organisations', () => {
  const web = useConsole()

  const { api, anOrganisation, aMember } = organising(() => web)

  /** The body of a new key. */
  const k = { name: 'k' }

  describe('making one and acting for it', () => {
    it('makes its maker the owner, and leaves the session where it was', async () => {
      const person = await aUser(web)
      const made = await api('POST', '/api/organisations', person.token, { name: ' Engines ' })
      expect(made.json.organisation).to.deep.include({ name: 'Engines', role: 'owner' })
      const { id } = made.json.organisation
      const { json } = await api('GET', '/api/accounts', person.token)
      expect(json.data).to.deep.equal([
        { id: person.id, name: '', kind: 'personal', role: 'owner', current: true },
        { id, name: 'Engines', kind: 'organisation', role: 'owner', current: false },
      ])
    })

    it('lets the same token act for another account, with its credits', async () => {
      const { id, owner } = await anOrganisation()
      const { json: me } = await api('GET', '/api/auth/me', owner.token)
      const { json: state } = await api('GET', '/api/account', owner.token)
      expect(state.organisation).to.deep.equal({ id, name: 'Engines', role: 'owner' })
      expect(me, 'nothing else').to.have.all.keys('ok', 'user')
      expect(me.user).to.deep.equal(state.user).and.to.include({ id: owner.id, credits: 0 })
      const back = await api('POST', '/api/auth/switch', owner.token, { account: owner.id })
      expect(back.json.account).to.include({ id: owner.id, kind: 'personal', current: true })
      expect((await api('GET', '/api/account', owner.token)).json.organisation).to.equal(null)
    })

    it('is 404 for accounts that one may not act for, and 400 for a name that is none', async () => {
      const { id } = await anOrganisation()
      const { token } = await aUser(web)
      for (const account of [id, 'acc_1', `acc_${'0'.repeat(32)}`, 'usr_1']) {
        expect(errorOf(await api('POST', '/api/auth/switch', token, { account }))).to.deep.equal(NOT_FOUND)
      }
      for (const name of ['', '  ', 'x'.repeat(61), 7, 'a\nb', undefined, 'Confirm at evil.example']) {
        expect(errorOf(await api('POST', '/api/organisations', token, { name }))).to.deep.equal(INVALID)
      }
    })
  })

  describe('members', () => {
    it('see themselves alone, and their own keys', async () => {
      const organisation = await anOrganisation()
      const [one, other] = [await aMember(organisation), await aMember(organisation)]
      const keyOf = async ({ token }: Person) => (await api('POST', '/api/keys', token, { name: 'k' })).json.key
      const [first, second, third] = [await keyOf(one), await keyOf(other), await keyOf(organisation.owner)]
      const seen = async ({ token }: Person) =>
        (await api('GET', '/api/keys', token)).json.data.map(({ id }: { id: string }) => id)
      expect(await seen(one)).to.deep.equal([first.id])
      expect(await seen(organisation.owner)).to.deep.equal([third.id, second.id, first.id])
      expect(first.memberId).to.equal(one.userId)
      const { data } = (await api('GET', '/api/members', one.token)).json
      expect(data.map(({ id }: { id: string }) => id)).to.deep.equal([one.userId])
      for (const [method, path] of [
        ['PATCH', `/api/keys/${second.id}`],
        ['POST', `/api/keys/${second.id}/rotate`],
        ['DELETE', `/api/keys/${second.id}`],
      ] as const) {
        expect(errorOf(await api(method, path, one.token, {})), path).to.deep.equal(NOT_FOUND)
      }
    })

    it('lose keys and sessions at once when they are removed, and keep what is their own', async () => {
      const organisation = await anOrganisation()
      const member = await aMember(organisation)
      const { secret } = (await api('POST', '/api/keys', member.token, { name: 'k' })).json
      const works = async () => (await web.get('/v1/models', secret)).status
      expect(await works()).to.equal(200)
      expect((await api('DELETE', `/api/members/${member.userId}`, organisation.owner.token)).status).to.equal(200)
      expect([await works(), (await api('GET', '/api/auth/me', member.token)).status]).to.deep.equal([401, 401])
      const token = await logIn(web, member.email)
      expect((await api('GET', '/api/accounts', token)).json.data).to.have.length(1)
      expect(errorOf(await api('DELETE', `/api/members/${member.userId}`, organisation.owner.token))).to.deep.equal(
        NOT_FOUND,
      )
    })

    it('change as owner and admins say, and the owner never', async () => {
      const organisation = await anOrganisation()
      const [admin, member] = [await aMember(organisation, { role: 'admin' }), await aMember(organisation)]
      const path = `/api/members/${member.userId}`
      const changed = await api('PATCH', path, admin.token, { role: 'admin', budget: { credits: 9, period: 'week' } })
      expect(changed.json.member).to.deep.include({ id: member.userId, role: 'admin' })
      expect(changed.json.member.budget).to.deep.include({ credits: 9, period: 'week' })
      expect((await api('PATCH', path, admin.token, { budget: null })).json.member.budget).to.equal(null)
      for (const body of [
        { role: 'owner' },
        { role: 'king' },
        { budget: { credits: -1, period: 'day' } },
        { budget: 3 },
      ]) {
        expect(errorOf(await api('PATCH', path, admin.token, body))).to.deep.equal(INVALID)
      }
      const { json } = await api('GET', '/api/members', admin.token)
      const owner = `/api/members/${json.data[0].id}`
      expect(errorOf(await api('PATCH', owner, admin.token, { role: 'member' }))).to.deep.equal([409, 'last_owner'])
      expect(errorOf(await api('DELETE', owner, admin.token))).to.deep.equal([409, 'last_owner'])
      const budget = { budget: { credits: 1, period: 'day' } }
      expect(errorOf(await api('PATCH', owner, admin.token, budget))).to.deep.equal(INVALID)
    })

    it('never change their own budget, by no way back into the organisation', async () => {
      const organisation = await anOrganisation()
      const fields = { role: 'admin', budget: { credits: 5, period: 'day' } } as const
      const admin = await aMember(organisation, fields)
      const path = `/api/members/${admin.userId}`
      for (const body of [
        { budget: null },
        { role: 'admin', budget: null },
        { budget: { credits: 6, period: 'day' } },
      ]) {
        expect(errorOf(await api('PATCH', path, admin.token, body))).to.deep.equal(FORBIDDEN)
      }
      const self = { email: admin.email, role: 'admin' }
      expect((await api('POST', '/api/invitations', admin.token, self)).json.error).to.equal('already_member')
      const alias = anEmail()
      expect((await api('POST', '/api/invitations', admin.token, { email: alias, role: 'admin' })).status).to.equal(200)
      expect((await api('DELETE', '/api/members/me', admin.token)).status).to.equal(200)
      const { json } = await api('GET', '/api/invitations', organisation.owner.token)
      expect(json.data, 'what they sent, to another mailbox of theirs too').to.deep.equal([])
    })

    it('become owner with the password of the former, who is an admin then', async () => {
      const organisation = await anOrganisation()
      const member = await aMember(organisation, { role: 'member', budget: { credits: 5, period: 'day' } })
      const hand = (password: string) =>
        api('POST', `/api/members/${member.userId}/make-owner`, organisation.owner.token, { password })
      expect(errorOf(await hand('wrong password 1'))).to.deep.equal([400, 'wrong_password'])
      expect((await hand(PASSWORD)).json.member).to.deep.include({ role: 'owner', budget: null })
      const { json: state } = await api('GET', '/api/account', organisation.owner.token)
      expect(state.organisation.role).to.equal('admin')
      expect(errorOf(await hand(PASSWORD))).to.deep.equal(FORBIDDEN)
    })
  })

  describe('one that an operator suspends', () => {
    const set = (id: string, status: 'suspended' | 'active') =>
      setAccountStatus(web.db, null, parseId('account', id)!, status)

    it('ends the sessions that act for it and refuses its keys, and its people keep their own accounts', async () => {
      const organisation = await anOrganisation()
      const { id, owner } = organisation
      const member = await aMember(organisation)
      const [elsewhere, own] = [await logIn(web, member.email), await api('POST', '/api/keys', owner.token, k)]
      await set(id, 'suspended')
      for (const { token } of [owner, member]) {
        expect((await api('GET', '/api/auth/me', token)).status).to.equal(401)
      }
      const refused = await web.get('/v1/models', own.json.secret)
      expect([refused.status, refused.json.error.type]).to.deep.equal([403, 'account_suspended'])
      expect((await api('GET', '/api/auth/me', elsewhere)).status, 'acts for their own account').to.equal(200)
      const token = await logIn(web, owner.email)
      const act = () => api('POST', '/api/auth/switch', token, { account: id })
      expect(errorOf(await act())).to.deep.equal([403, 'account_suspended'])
      expect((await api('GET', '/api/auth/me', token)).json.user.id, 'where it was').to.equal(owner.id)
      await set(id, 'active')
      expect((await act()).status).to.equal(200)
      expect((await web.get('/v1/models', own.json.secret)).status).to.equal(200)
    })

    it('works on where the owner’s own account is suspended, who cannot sign in', async () => {
      const organisation = await anOrganisation()
      const member = await aMember(organisation)
      const { secret } = (await api('POST', '/api/keys', member.token, k)).json
      await set(organisation.owner.id, 'suspended')
      expect((await api('GET', '/api/auth/me', organisation.owner.token)).status).to.equal(401)
      expect((await api('GET', '/api/auth/me', member.token)).status).to.equal(200)
      expect((await web.get('/v1/models', secret)).status).to.equal(200)
    })
  })

  describe('the end of one', () => {
    const end = (token: string, id: string, body: object = {}) =>
      api('DELETE', `/api/organisations/${id}`, token, { name: 'Engines', password: PASSWORD, ...body })

    it('takes keys, memberships and invitations along, and leaves the people', async () => {
      const organisation = await anOrganisation()
      const { id, owner } = organisation
      const [admin, stranger] = [await aMember(organisation, { role: 'admin' }), await aUser(web)]
      const { secret } = (await api('POST', '/api/keys', admin.token, { name: 'k' })).json
      await api('POST', '/api/invitations', owner.token, { email: anEmail(), role: 'member' })
      expect(errorOf(await end(stranger.token, id))).to.deep.equal(NOT_FOUND)
      expect(errorOf(await end(admin.token, id))).to.deep.equal(FORBIDDEN)
      expect(errorOf(await end(owner.token, id, { name: 'Other' }))).to.deep.equal(INVALID)
      expect(errorOf(await end(owner.token, id, { password: 'wrong one 1' }))).to.deep.equal([400, 'wrong_password'])
      expect(errorOf(await end(owner.token, owner.id))).to.deep.equal(NOT_FOUND)
      expect((await end(owner.token, id)).status).to.equal(200)
      expect((await web.get('/v1/models', secret)).status).to.equal(401)
      expect((await api('GET', '/api/auth/me', admin.token)).status).to.equal(401)
      const token = await logIn(web, owner.email)
      expect((await api('GET', '/api/accounts', token)).json.data).to.have.length(1)
      expect(await web.db('invitations').where({ account_id: parseId('account', id) })).to.deep.equal([])
    })

    it('comes before that of its owner, whom it keeps', async () => {
      const { id, owner } = await anOrganisation('My Engines')
      const leave = (token: string) =>
        api('POST', '/api/auth/delete', token, { email: owner.email, password: PASSWORD, giveUpCredits: true })
      const kept = await leave(owner.token)
      expect(errorOf(kept)).to.deep.equal([409, 'conflict'])
      expect(kept.json.message).to.contain('My Engines')
      expect((await end(owner.token, id, { name: 'My Engines' })).status).to.equal(200)
      expect((await leave(await logIn(web, owner.email))).status).to.equal(200)
    })

    it('of a member ends their memberships', async () => {
      const organisation = await anOrganisation()
      const member = await aMember(organisation)
      const { secret } = (await api('POST', '/api/keys', member.token, { name: 'k' })).json
      const body = { email: member.email, password: PASSWORD, giveUpCredits: true }
      expect((await api('POST', '/api/auth/delete', member.token, body)).status).to.equal(200)
      expect((await web.get('/v1/models', secret)).status).to.equal(401)
      expect((await api('GET', '/api/members', organisation.owner.token)).json.data).to.have.length(1)
    })
  })
})
