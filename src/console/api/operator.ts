/**
 * The operators' API. Typed by the server's own types, as `endpoints.ts`.
 */
import type { CallRecord } from '../../shared/calls/records.ts'
import type { Grant } from '../../shared/ledger/ledger.ts'
import type { MailRecord } from '../../shared/mail/mails.ts'
import type { OperatedAccount, UpstreamReport } from '../../shared/operators/accounts.ts'
import type { OperatorAction } from '../../shared/operators/actions.ts'
import { send, withQuery } from './client.ts'
import type { CallStory, Data } from './endpoints.ts'

export type { MailRecord, OperatedAccount, OperatorAction, UpstreamReport }

/** An account with what an operator wants to know of it. */
export type AccountFile = {
  account: OperatedAccount
  held: number
  openCalls: number
  grants: Grant[]
  calls: CallRecord[]
  actions: OperatorAction[]
}

export type GrantFields = { amount: number; origin: string; note?: string; expiresAt?: string }

const BASE = '/api/operator'
const one = (path: string, id: string): string => `${BASE}/${path}/${encodeURIComponent(id)}`

export const searchAccounts = (search: string) =>
  send<Data<OperatedAccount>>('GET', withQuery(`${BASE}/accounts`, { search }))
export const getAccountFile = (id: string) => send<AccountFile>('GET', one('accounts', id))
export const giveCredits = (id: string, fields: GrantFields) =>
  send<{ credits: number }>('POST', `${one('accounts', id)}/grants`, fields)
export const putStanding = (id: string, verb: 'suspend' | 'activate') =>
  send<{ account: OperatedAccount }>('POST', `${one('accounts', id)}/${verb}`, {})
export const getAnyCall = (id: string) => send<CallStory & { account: OperatedAccount | null }>('GET', one('calls', id))
export const getDeadMails = () => send<Data<MailRecord>>('GET', `${BASE}/mails`)
export const retryMail = (id: string) => send('POST', `${one('mails', id)}/retry`, {})
export const getUpstreams = () => send<Data<UpstreamReport>>('GET', `${BASE}/upstreams`)
export const getActions = () => send<Data<OperatorAction>>('GET', `${BASE}/actions`)
