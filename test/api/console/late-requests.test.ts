import { expect } from 'chai'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Trx } from '../../../src/shared/platform/postgres/db.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { anEmail, useConsole } from '../../support/console.ts'
import { untilItWaits } from '../../support/lock-waits.ts'

describe('requests of members that were let in, and wait while their membership changes', () => {
  const web = useConsole()

  type Ask = [method: string, path: string, body?: object]

  const membershipOf = ({ id, userId }: TestMember) => ({ account_id: id, user_id: userId })

  /** The answer to what a member asks and waits for a table with, while something becomes of them. */
  async function answerTo(
    member: TestMember,
    [method, path, body]: Ask,
    { table, change }: { table: 'users' | 'accounts'; change: (trx: Trx) => Promise<unknown> },
  ): Promise<[number, string]> {
    const changing = await web.db.transaction()
    if (table === 'users') await changing.raw('LOCK TABLE users IN ACCESS EXCLUSIVE MODE')
    else await changing('accounts').where({ id: member.id }).forNoKeyUpdate().select('id')
    const asked = send(method, `${web.url}${path}`, { key: member.token, body })
    await untilItWaits(web.db, `%"${table}"%`)
    await change(changing)
    await changing.commit()
    const { status, json } = await asked
    return [status, json.error]
  }

  it('are 403 of an admin who was made a member', async () => {
    const organisation = await anOrganisation(web.db)
    const [admin, other] = [await aMember(web.db, organisation, { role: 'admin' }), await aMember(web.db, organisation)]
    const [self, them] = [admin, other].map(({ userId }) => `/api/members/${publicId('user', userId)}`)
    const asks: Ask[] = [
      ['PATCH', self!, { role: 'admin' }],
      ['PATCH', self!, { budget: null }],
      ['PATCH', them!, { role: 'admin' }],
      ['DELETE', them!],
      ['POST', '/api/invitations', { email: anEmail(), role: 'admin' }],
    ]
    for (const ask of asks) {
      await web.db('members').where(membershipOf(admin)).update({ role: 'admin' })
      const change = (trx: Trx) => trx('members').where(membershipOf(admin)).update({ role: 'member' })
      const answer = await answerTo(admin, ask, { table: 'accounts', change })
      expect(answer, `${ask[0]} ${ask[1]}`).to.deep.equal([403, 'forbidden'])
    }
    const roles = await web.db('members').where({ account_id: organisation.id }).orderBy('role').pluck('role')
    expect(roles).to.deep.equal(['member', 'member', 'owner'])
    expect(await web.db('invitations').where({ account_id: organisation.id })).to.deep.equal([])
  })

  it('are 401 of who was removed, whatever account their session acts for by then', async () => {
    const organisation = await anOrganisation(web.db)
    const asks: ['users' | 'accounts', Ask][] = [
      ['users', ['GET', '/api/auth/me']],
      ['users', ['GET', '/api/account']],
      ['users', ['PATCH', '/api/auth/me', { displayName: 'Ada' }]],
      ['users', ['POST', '/api/mail/test', {}]],
      ['accounts', ['POST', '/api/keys', { name: 'late' }]],
    ]
    for (const [table, ask] of asks) {
      const member = await aMember(web.db, organisation)
      const change = async (trx: Trx): Promise<void> => {
        const own = trx('members').where({ user_id: member.userId, account_kind: 'personal' }).select('account_id')
        await trx('sessions').where(membershipOf(member)).update({ account_id: own })
        await trx('api_keys').where(membershipOf(member)).update({ revoked_at: trx.fn.now() })
        await trx('members').where(membershipOf(member)).delete()
      }
      expect(await answerTo(member, ask, { table, change }), `${ask[0]} ${ask[1]}`).to.deep.equal([401, 'unauthorized'])
    }
  })
})
