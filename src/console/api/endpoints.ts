/**
 * The console API, endpoint by endpoint. What it answers is typed by the server's own types: a field that changes there
 * does
 * not compile here.
 */
import type { ApiKey } from '../../shared/accounts/api-keys.ts'
import type { Session } from '../../shared/accounts/sessions.ts'
import type { User } from '../../shared/accounts/users.ts'
import type { CallRecord } from '../../shared/calls/records.ts'
import type { UsageRow } from '../../shared/calls/usage.ts'
import type { Grant, LedgerEntry } from '../../shared/ledger/ledger.ts'
import type { AccountState } from '../../shared/accounts/standing.ts'
import type { ModelEntry } from '../../api/v1/models.ts'
import { send, withQuery } from './client.ts'

export type { AccountState, ApiKey, CallRecord, Grant, LedgerEntry, ModelEntry, Session, UsageRow, User }

export type Data<T> = { data: T[] }
export type Page<T> = Data<T> & { nextCursor: string | null }
export type Said = { message: string }
export type SignedIn = { token: string; user: User }

/** A call with everything that is known of it. `startedAt`: when a worker began it. */
export type CallStory = { call: CallRecord; startedAt: string | null; ledger: LedgerEntry[] }

/** What the list of calls can be narrowed to; texts as they stand in the address. */
export type CallQuery = {
  model?: string
  modality?: string
  status?: string
  keyId?: string
  from?: string
  to?: string
}

const at = (path: string, id: string): string => `${path}/${encodeURIComponent(id)}`

export const signUp = (fields: { email: string; password: string; displayName?: string }) =>
  send<SignedIn>('POST', '/api/auth/register', fields)
export const signIn = (fields: { email: string; password: string }) => send<SignedIn>('POST', '/api/auth/login', fields)
export const signOut = () => send('POST', '/api/auth/logout')
export const verify = (token: string) => send<{ user: User }>('POST', '/api/email/verify', { token })
export const resend = () => send<Said>('POST', '/api/email/resend')
export const forgot = (email: string) => send<Said>('POST', '/api/email/forgot', { email })
export const reset = (token: string, password: string) => send<Said>('POST', '/api/email/reset', { token, password })

export const getAccount = () => send<AccountState & { user: User }>('GET', '/api/account')
export const changeProfile = (fields: { displayName?: string; avatarUrl?: string }) =>
  send<{ user: User }>('PATCH', '/api/auth/me', fields)
export const changePassword = (fields: { currentPassword: string; password: string }) =>
  send('POST', '/api/auth/password', fields)
export const getSessions = () => send<Data<Session>>('GET', '/api/auth/sessions')
export const endSession = (id: string) => send('DELETE', at('/api/auth/sessions', id))
export const sendTestMail = () => send<{ transport: 'smtp' | 'file'; to: string }>('POST', '/api/mail/test', {})

export const getModels = () => send<Data<ModelEntry>>('GET', '/api/models')
export const getKeys = () => send<Data<ApiKey>>('GET', '/api/keys')
export const createKey = (name: string) => send<{ secret: string; key: ApiKey }>('POST', '/api/keys', { name })
export const revokeKey = (id: string) => send('DELETE', at('/api/keys', id))

export const getCalls = (query: CallQuery & { limit?: string; cursor?: string }) =>
  send<Page<CallRecord>>('GET', withQuery('/api/calls', query))
export const getCall = (id: string) => send<CallStory>('GET', at('/api/calls', id))
export const getUsage = (query: { from?: string; to?: string }) =>
  send<Data<UsageRow>>('GET', withQuery('/api/usage', query))
export const getLedger = (query: { limit?: string; cursor?: string }) =>
  send<Page<LedgerEntry>>('GET', withQuery('/api/ledger', query))
export const getGrants = () => send<Data<Grant>>('GET', '/api/grants')
