import { PASSWORD } from '../../support/console.ts'
import type { Requests } from '../support/visitor.ts'

/** Organisations, their members and invitations. */
export const requests: Requests = {
  send: async ({ signUp, mailedToken }) => {
    const { email, me: owner } = await signUp()
    await owner('POST', '/api/email/verify', { token: await mailedToken(email, /^Confirm/) })
    const { id } = (await owner('POST', '/api/organisations', { name: 'Engines' })).json.organisation
    await owner('GET', '/api/accounts')
    await owner('POST', '/api/auth/switch', { account: id })
    await owner('GET', '/api/auth/me')
    await owner('GET', '/api/account')

    /** Somebody who has joined. */
    const aMember = async (role: string) => {
      const { email, me } = await signUp()
      await owner('POST', '/api/invitations', { email, role, budget: { credits: 50, period: 'week' } })
      await owner('GET', '/api/invitations')
      const token = await mailedToken(email, /invitation/)
      await me('POST', '/api/invitations/details', { token })
      await me('POST', '/api/invitations/accept', { token })
      await me('POST', '/api/auth/switch', { account: id })
      const { data } = (await owner('GET', '/api/members')).json
      return { me, path: `/api/members/${data.find((one: { email: string }) => one.email === email).id}` }
    }
    const [first, second] = [await aMember('member'), await aMember('admin')]
    await owner('PATCH', first.path, { role: 'admin', budget: null })
    await owner('PATCH', first.path, { budget: { credits: 0, period: 'total' } })
    await owner('GET', '/api/usage/members')
    await owner('GET', '/api/exports/members')
    await second.me('DELETE', '/api/members/me')
    const { invitation } = (await owner('POST', '/api/invitations', { email: 'late@example.com', role: 'member' })).json
    await owner('DELETE', `/api/invitations/${invitation.id}`)

    await owner('POST', `${first.path}/make-owner`, { password: PASSWORD })
    const { data } = (await first.me('GET', '/api/members')).json
    await first.me('DELETE', `/api/members/${data.find((one: { role: string }) => one.role === 'admin').id}`)
    await first.me('DELETE', `/api/organisations/${id}`, { name: 'Engines', password: PASSWORD })
  },
}
