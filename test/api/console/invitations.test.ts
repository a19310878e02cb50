import { expect } from 'chai'
import { aPerson, anEmail } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { aGrant, proveAddress } from '../../../scripts/harness/factories.ts'
import { useMailing } from './support/mailing.ts'
import { errorOf, organising } from './support/organising.ts'

describe('invitations', () => {
  const mailing = useMailing()

  const { api, anOrganisation, aMember } = organising(() => mailing.web)

  /** The token of the newest invitation that was mailed to an address. */
  const invited = async (email: string, nth = 1): Promise<string> => {
    const mails = await mailing.mailbox.of(email, nth + 1)
    return mails.filter(({ mail }) => /invitation/i.test(mail.subject!)).at(-1)!.token!
  }

  it('are mailed, accepted once, and by the invited mailbox alone', async () => {
    const organisation = await anOrganisation()
    const [person, other] = [await aPerson(mailing.web), await aPerson(mailing.web)]
    const body = { email: person.email, role: 'admin', budget: { credits: 50, period: 'day' } }
    const { json } = await api('POST', '/api/invitations', organisation.owner.token, body)
    expect(json.invitation).to.deep.include(body)
    const token = await invited(person.email)
    const accept = (one: Person) => api('POST', '/api/invitations/accept', one.token, { token })
    expect(errorOf(await accept(other))).to.deep.equal([400, 'invalid_token'])
    const details = async () => (await api('POST', '/api/invitations/details', '', { token })).json.invitation
    expect(await details()).to.deep.include({ invitedBy: organisation.owner.email, email: person.email })
    const isVerified = async () => (await api('GET', '/api/auth/me', person.token)).json.user.emailVerified
    expect(await isVerified()).to.equal(false)
    const answers = await Promise.all([accept(person), accept(person), accept(person)])
    expect(answers.map(({ status }) => status)).to.have.members([200, 400, 400])
    // Only their mailbox had the token: it has proved the address.
    expect([await isVerified(), await details()]).to.deep.equal([true, null])
    const members = (await api('GET', '/api/members', organisation.owner.token)).json.data
    expect(members.map(({ email, role }: Record<string, string>) => [email, role])).to.deep.equal([
      [organisation.owner.email, 'owner'],
      [person.email, 'admin'],
    ])
    expect(members[1].budget).to.deep.include({ credits: 50, period: 'day', used: 0, remaining: 50 })
    const again = await api('POST', '/api/invitations', organisation.owner.token, body)
    expect(errorOf(again)).to.deep.equal([409, 'already_member'])
  })

  it('are dead once revoked, expired or replaced', async () => {
    const { owner } = await anOrganisation()
    const person = await aPerson(mailing.web)
    const body = { email: person.email, role: 'member' }
    const accept = async (token: string) =>
      errorOf(await api('POST', '/api/invitations/accept', person.token, { token }))
    const first = (await api('POST', '/api/invitations', owner.token, body)).json.invitation
    const firstToken = await invited(person.email)
    expect((await api('DELETE', `/api/invitations/${first.id}`, owner.token)).status).to.equal(200)
    expect(errorOf(await api('DELETE', `/api/invitations/${first.id}`, owner.token))).to.deep.equal([404, 'not_found'])
    expect(await accept(firstToken)).to.deep.equal([400, 'invalid_token'])
    await api('POST', '/api/invitations', owner.token, body)
    const second = await invited(person.email, 2)
    await api('POST', '/api/invitations', owner.token, body)
    const third = await invited(person.email, 3)
    expect(await accept(second)).to.deep.equal([400, 'invalid_token'])
    const listed = (await api('GET', '/api/invitations', owner.token)).json.data
    expect(listed).to.have.length(1)
    await mailing.web
      .db('invitations')
      .where({ email: person.email })
      .update({
        created_at: mailing.web.db.raw("now() - interval '8 days'"),
        expires_at: mailing.web.db.raw("now() - interval '1 day'"),
      })
    expect(await accept(third)).to.deep.equal([400, 'invalid_token'])
    expect((await api('GET', '/api/invitations', owner.token)).json.data).to.deep.equal([])
  })

  it('are for organisations: a person is alone in their own account', async () => {
    const { token } = await aPerson(mailing.web)
    const reply = await api('POST', '/api/invitations', token, { email: anEmail(), role: 'member' })
    expect(errorOf(reply)).to.deep.equal([409, 'conflict'])
  })

  it('need a verified sender, and are 10 an hour of a person and an account that never bought credits', async () => {
    const invite = ({ token }: Person) =>
      api('POST', '/api/invitations', token, { email: anEmail(), role: 'member' }).then(({ status }) => status)
    const { id, owner } = await anOrganisation()
    await mailing.web.db('users').where({ email: owner.email }).update({ email_verified_at: null })
    expect(await invite(owner)).to.equal(403)
    await proveAddress(mailing.web.db, owner)
    for (let nth = 0; nth < 9; nth += 1) expect(await invite(owner)).to.equal(200)
    expect(await invite(owner)).to.equal(429)
    const { json } = await api('POST', '/api/organisations', owner.token, { name: 'Another' })
    await api('POST', '/api/auth/switch', owner.token, { account: json.organisation.id })
    expect(await invite(owner), 'for another account').to.equal(429)
    await aGrant(mailing.web.db, parseId('account', json.organisation.id)!, { amount: 1, origin: 'bonus' })
    expect(await invite(owner)).to.equal(429)
    await aGrant(mailing.web.db, parseId('account', json.organisation.id)!, { amount: 1 })
    expect(await invite(owner)).to.equal(200)
    expect(id).not.to.equal(json.organisation.id)
  })

  it('end with the membership, and with the role, of whoever sent them', async () => {
    const organisation = await anOrganisation()
    const admin = await aMember(organisation, { role: 'admin' })
    const invite = async () =>
      (await api('POST', '/api/invitations', admin.token, { email: anEmail(), role: 'member' })).status
    const left = async () => (await api('GET', '/api/invitations', organisation.owner.token)).json.data.length
    expect([await invite(), await left()]).to.deep.equal([200, 1])
    await api('PATCH', `/api/members/${admin.userId}`, organisation.owner.token, { role: 'member' })
    expect(await left()).to.equal(0)
    await api('PATCH', `/api/members/${admin.userId}`, organisation.owner.token, { role: 'admin' })
    expect([await invite(), await left()]).to.deep.equal([200, 1])
    await api('DELETE', `/api/members/${admin.userId}`, organisation.owner.token)
    expect(await left()).to.equal(0)
  })
})
