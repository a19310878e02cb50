/**
 * The console API, endpoint by endpoint.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { removal } from './client.ts'
import { ask } from './declared.ts'
import { requestOf } from './requests.ts'

export type ApiKey = RowOf<'GET /api/keys'>
export type CallRecord = RowOf<'GET /api/calls'>
export type Grant = RowOf<'GET /api/grants'>
export type LedgerEntry = RowOf<'GET /api/ledger'>
export type ModelEntry = RowOf<'GET /api/models'>
export type Session = RowOf<'GET /api/auth/sessions'>
export type UsageRow = RowOf<'GET /api/usage'>
export type AccountLatency = Answered<'GET /api/usage/latency'>
export type ModelLatency = RowOf<'GET /api/models/latency'>
export type User = Answered<'GET /api/auth/me'>['user']

/** The state of the account, and whose it is. */
export type AccountState = Answered<'GET /api/account'>

export type Data<T> = { data: T[] }
export type Page<T> = Data<T> & { nextCursor: string | null }

/** A call with everything that is known of it. `startedAt`: when a worker began it. */
export type CallDetails = Answered<'GET /api/calls/:id'>

/** What the list of calls can be narrowed to; texts as in the address. */
export type CallQuery = {
  model?: string
  modality?: string
  dialect?: string
  status?: string
  keyId?: string
  memberId?: string
  from?: string
  to?: string
}

type BodyOf<Name extends Parameters<typeof ask>[0]> = Asked<Name> extends { body: infer Body } ? Body : never

export const claim = (body: BodyOf<'POST /api/auth/claim'>) => ask('POST /api/auth/claim', { body })
export const signUp = (body: BodyOf<'POST /api/auth/register'>) => ask('POST /api/auth/register', { body })
export const signIn = (body: BodyOf<'POST /api/auth/login'>) => ask('POST /api/auth/login', { body })
/** A sign-in that needs a second step. */
export type SecondStep = Extract<Answered<'POST /api/auth/login'>, { ticket: string }>
export const passSecondFactor = (body: BodyOf<'POST /api/auth/second-factor'>) =>
  ask('POST /api/auth/second-factor', { body })
export const getFactors = () => ask('GET /api/auth/second-factor')
export const beginApp = () => ask('POST /api/auth/totp')
export const confirmApp = (code: string) => ask('POST /api/auth/totp/confirm', { body: { code } })
export const removeApp = () => removal(ask('DELETE /api/auth/totp'))
/** A passkey as its owner sees it. */
export type Passkey = RowOf<'GET /api/auth/passkeys'>
export const getPasskeys = () => ask('GET /api/auth/passkeys')
export const beginPasskey = () => ask('POST /api/auth/passkeys/options')
export const addPasskey = (body: BodyOf<'POST /api/auth/passkeys'>) => ask('POST /api/auth/passkeys', { body })
export const removePasskey = (id: string) => removal(ask('DELETE /api/auth/passkeys/:id', { params: { id } }))
/** Begins to use a passkey: as the second step of the sign-in of a ticket, or by itself. */
export const beginUse = (body: BodyOf<'POST /api/auth/passkey/options'>) =>
  ask('POST /api/auth/passkey/options', { body })
export const signInByPasskey = (body: BodyOf<'POST /api/auth/passkey'>) => ask('POST /api/auth/passkey', { body })
export const prove = (body: BodyOf<'POST /api/auth/proof'>) => ask('POST /api/auth/proof', { body })
/** Ends a session, which need not be that of this page any more. */
export const signOut = (session: string | null) => fetch('/api/auth/logout', requestOf('POST', session))
export const verify = (token: string) => ask('POST /api/email/verify', { body: { token } })
export const resend = () => ask('POST /api/email/resend')
export const forgot = (email: string) => ask('POST /api/email/forgot', { body: { email } })
export const reset = (token: string, password: string) => ask('POST /api/email/reset', { body: { token, password } })

export const getAccount = () => ask('GET /api/account')
export const changeProfile = (body: BodyOf<'PATCH /api/auth/me'>) => ask('PATCH /api/auth/me', { body })
export const changePassword = (body: BodyOf<'POST /api/auth/password'>) => ask('POST /api/auth/password', { body })
export const changeAddress = (body: BodyOf<'POST /api/email/change'>) => ask('POST /api/email/change', { body })
export const confirmAddress = (token: string) => ask('POST /api/email/confirm', { body: { token } })
export const getAccess = (token: string) => ask('POST /api/email/access', { body: { token } })
export const endAccess = (token: string, password: string) =>
  ask('POST /api/email/access/end', { body: { token, password } })
export const getResetAddress = (token: string) => ask('POST /api/email/reset/address', { body: { token } })
export const getNewAddress = (token: string) => ask('POST /api/email/confirm/address', { body: { token } })
export const deleteAccount = (body: BodyOf<'POST /api/auth/delete'>) => ask('POST /api/auth/delete', { body })
export const getSessions = () => ask('GET /api/auth/sessions')
export const endSession = (id: string) => removal(ask('DELETE /api/auth/sessions/:id', { params: { id } }))
export const endOtherSessions = () => ask('DELETE /api/auth/sessions')
export const sendTestMail = () => ask('POST /api/mail/test', { body: {} })

/** The notice above every page. */
export type Banner = NonNullable<Answered<'GET /api/banner'>['banner']>
export type Site = Answered<'GET /api/banner'>['site']
export const getBanner = () => ask('GET /api/banner')
/** Mails that were not sent, on a local installation. */
export const getLocalMails = () => ask('GET /api/dev/mails')
export const getModels = () => ask('GET /api/models')
export const getModelLatency = () => ask('GET /api/models/latency')
export const getKeys = () => ask('GET /api/keys')
/** What a key can be limited to; null lifts a limit. */
export type KeyLimits = Omit<BodyOf<'PATCH /api/keys/:id'>, 'name'>

export const createKey = (name: string, limits: KeyLimits = {}) => ask('POST /api/keys', { body: { name, ...limits } })
export const changeKey = (id: string, body: KeyLimits) => ask('PATCH /api/keys/:id', { params: { id }, body })
export const rotateKey = (id: string, graceSeconds: number) =>
  ask('POST /api/keys/:id/rotate', { params: { id }, body: { graceSeconds } })
export const revokeKey = (id: string) => ask('DELETE /api/keys/:id', { params: { id } })

/** Filters are passed as the address has them: the server reports what is wrong with them. */
export const getCalls = (query: CallQuery & { sort?: string | undefined; limit?: string; cursor?: string }) =>
  ask('GET /api/calls', { query: query as Asked<'GET /api/calls'>['query'] })
export const getCall = (id: string) => ask('GET /api/calls/:id', { params: { id } })
export const getUsage = (query: { from?: string; to?: string; keyId?: string }) => ask('GET /api/usage', { query })
export const getHourUsage = (query: { from?: string; to?: string; keyId?: string }) =>
  ask('GET /api/usage/hours', { query })
export const getKeyUsage = (query: { from?: string; to?: string }) => ask('GET /api/usage/keys', { query })
export const getLatency = (query: { from?: string; to?: string; keyId?: string }) =>
  ask('GET /api/usage/latency', { query })
export const getLedger = (query: { limit?: string; cursor?: string }) => ask('GET /api/ledger', { query })
export const getGrants = () => ask('GET /api/grants')
