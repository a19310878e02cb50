/** Organisations at a console, and their members. */
import type { Budget } from '../../../../src/shared/identity/budgets.ts'
import { setMemberBudget } from '../../../../src/shared/identity/member-changes.ts'
import { addMember } from '../../../../src/shared/identity/members.ts'
import type { GivenRole } from '../../../../src/shared/identity/members.ts'
import { findUserByEmail } from '../../../../src/shared/identity/users.ts'
import { parseId, publicId } from '../../../../src/shared/platform/ids.ts'
import { aUser } from '../../../support/console.ts'
import type { Person, TestConsole } from '../../../support/console.ts'
import { proveAddress } from '../../../../scripts/harness/factories.ts'
import { send } from '../../../../scripts/harness/http.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'

/** The status and the word of a refusal. */
export const errorOf = ({ status, json }: Reply): unknown[] => [status, json.error]

/** What owners and members do at the console of a test, which may start later. */
export function organising(web: () => TestConsole) {
  const api = (method: string, path: string, token: string, body?: unknown): Promise<Reply> =>
    send(method, `${web().url}${path}`, { key: token, body })

  /** Somebody who may invite others. */
  async function aVerified(): Promise<Person> {
    const person = await aUser(web())
    await proveAddress(web().db, person)
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

  /** Somebody who has joined, whose session acts for it. */
  async function aMember(
    { id }: { id: string },
    { role = 'member', budget = null }: { role?: GivenRole; budget?: Budget | null } = {},
  ): Promise<Person & { userId: string }> {
    const { db } = web()
    const person = await aVerified()
    const userId = (await findUserByEmail(db, person.email))!.id
    const member = { userId, accountId: parseId('account', id)! }
    await db.transaction(async (trx) => {
      await addMember(trx, member, role)
      if (budget) await setMemberBudget(trx, member, budget)
    })
    await api('POST', '/api/auth/switch', person.token, { account: id })
    return { ...person, userId: publicId('user', userId) }
  }

  return { api, anOrganisation, aMember }
}
