/** Organisations at a console, their members, and the invitations by which these joined. */
import { expect } from 'chai'
import { aPerson } from '../../../support/console.ts'
import type { Person } from '../../../support/console.ts'
import { proveAddress } from '../../../../scripts/harness/factories.ts'
import { send } from '../../../../scripts/harness/http.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import type { MailConsole } from './mailing.ts'

/** The status and the word of a refusal. */
export const errorOf = ({ status, json }: Reply): unknown[] => [status, json.error]

/** What owners and members do at the console of a test, which may start later. */
export function organising(mailing: () => MailConsole) {
  const api = (method: string, path: string, token: string, body?: unknown): Promise<Reply> =>
    send(method, `${mailing().web.url}${path}`, { key: token, body })

  /** Somebody who may invite others. */
  async function aVerified(): Promise<Person> {
    const person = await aPerson(mailing().web)
    await proveAddress(mailing().web.db, person)
    return person
  }

  /** An organisation whose owner's session acts for it. */
  async function anOrganisation(name = 'Engines'): Promise<{ id: string; owner: Person }> {
    const owner = await aVerified()
    const { json } = await api('POST', '/api/organisations', owner.token, { name })
    const { id } = json.organisation
    await api('POST', '/api/auth/switch', owner.token, { account: id })
    return { id, owner }
  }

  /** The token of the newest invitation that was mailed to an address. */
  const invited = async (email: string, nth = 1): Promise<string> => {
    const mails = await mailing().mailbox.of(email, nth + 1)
    return mails.filter(({ mail }) => /invitation/i.test(mail.subject!)).at(-1)!.token!
  }

  /** Somebody who has joined, whose session acts for it. */
  async function aMember(
    { id, owner }: { id: string; owner: Person },
    fields: object = { role: 'member' },
  ): Promise<Person & { userId: string }> {
    const person = await aPerson(mailing().web)
    await api('POST', '/api/invitations', owner.token, { email: person.email, ...fields })
    const accepted = await api('POST', '/api/invitations/accept', person.token, { token: await invited(person.email) })
    expect([accepted.status, accepted.json.organisation?.id]).to.deep.equal([200, id])
    await proveAddress(mailing().web.db, person)
    await api('POST', '/api/auth/switch', person.token, { account: id })
    const { json } = await api('GET', '/api/members', owner.token)
    return { ...person, userId: json.data.find((one: { email: string }) => one.email === person.email).id }
  }

  return { api, anOrganisation, invited, aMember }
}
