/**
 * Which keys are one's own: owner and admins of an organisation see those of all members.
 */
import type { ApiKey } from '../api/endpoints.ts'
import { getMembers } from '../api/organisations.ts'
import { account } from './account.ts'

/** Finds out whether a key is one's own. @throws Problem */
export async function ownKeys(): Promise<(key: ApiKey) => boolean> {
  const now = account.peek()
  if (!now?.organisation || now.organisation.role === 'member') return () => true
  const me = (await getMembers()).data.find(({ email }) => email === now.user.email)
  return ({ memberId }) => memberId === me?.id
}
