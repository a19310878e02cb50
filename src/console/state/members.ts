/**
 * The other members of an organisation, as owner and admins see them; nobody where there are none to see.
 */
import type { Member } from '../api/organisations.ts'
import { getMembers } from '../api/organisations.ts'
import { account } from './account.ts'
import { useLoad } from './load.ts'

/** Whether there are others, whose keys, calls and usage are seen too. */
export function seesOthers(): boolean {
  const organisation = account.value?.organisation
  return organisation ? organisation.role !== 'member' : false
}

/** Everybody whose keys and calls are seen besides one's own; undefined while that is not known. */
export function useMembers(): Member[] | undefined {
  const sees = seesOthers()
  const members = useLoad(sees ? 'members' : 'no members', async () => (sees ? getMembers() : { data: [] }))
  return account.value ? members.data?.data : undefined
}

/** What oneself may spend of the organisation's credits; null without a budget, undefined while it is not known. */
export function useOwnBudget(): Member['budget'] | undefined {
  const organisation = account.value?.organisation
  const has = organisation !== null && organisation !== undefined && organisation.role !== 'owner'
  const members = useLoad(has ? 'members' : 'no members', async () => (has ? getMembers() : { data: [] }))
  if (!account.value || !members.data) return undefined
  return members.data.data.find(({ email }) => email === account.value?.user.email)?.budget ?? null
}

/** A member in few words. */
export const memberName = ({ displayName, email }: Member): string => displayName || email

/** Whether the holder of a key, or of the key that a call came with, is oneself, among these members. */
export const isOneself = ({ memberId }: { memberId: string }, members: Member[]): boolean =>
  members.length === 0 || members.some(({ id, email }) => id === memberId && email === account.value?.user.email)

/** Who the members are now, for those who see others. @throws Problem */
export const membersSeen = async (): Promise<Member[]> => (seesOthers() ? (await getMembers()).data : [])
