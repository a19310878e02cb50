/**
 * Organisations: the accounts that one can act for, their members and invitations.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { removal } from './client.ts'
import { ask } from './declared.ts'

export type ActedFor = RowOf<'GET /api/accounts'>
export type Member = RowOf<'GET /api/members'>
export type MemberChanges = Asked<'PATCH /api/members/:id'>['body']
export type Invitation = RowOf<'GET /api/invitations'>
export type NewInvitation = Asked<'POST /api/invitations'>['body']

export const getAccounts = () => ask('GET /api/accounts')
/** Makes the session act for another account. Pages use `switchTo`. */
export const actFor = (account: string) => ask('POST /api/auth/switch', { body: { account } })
export const createOrganisation = (name: string) => ask('POST /api/organisations', { body: { name } })
export const deleteOrganisation = (id: string, body: Asked<'DELETE /api/organisations/:id'>['body']) =>
  ask('DELETE /api/organisations/:id', { params: { id }, body })

export const getMembers = () => ask('GET /api/members')
export const changeMember = (id: string, body: MemberChanges) => ask('PATCH /api/members/:id', { params: { id }, body })
export const removeMember = (id: string) => removal(ask('DELETE /api/members/:id', { params: { id } }))
export const leaveOrganisation = () => ask('DELETE /api/members/me')
export const makeOwner = (id: string, password: string) =>
  ask('POST /api/members/:id/make-owner', { params: { id }, body: { password } })

export const getInvitations = () => ask('GET /api/invitations')
export const invite = (body: NewInvitation) => ask('POST /api/invitations', { body })
export const revokeInvitation = (id: string) => removal(ask('DELETE /api/invitations/:id', { params: { id } }))
export type ShownInvitation = Answered<'POST /api/invitations/details'>
export const showInvitation = (token: string) => ask('POST /api/invitations/details', { body: { token } })
export const acceptInvitation = (token: string) => ask('POST /api/invitations/accept', { body: { token } })

/** What each member used on some days. */
export const getMemberUsage = (query: { from?: string; to?: string }) => ask('GET /api/usage/members', { query })
