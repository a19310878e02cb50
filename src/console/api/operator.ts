/**
 * The operators' API.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { ask } from './declared.ts'

export type OperatedAccount = RowOf<'GET /api/operator/accounts'>
export type MailRecord = RowOf<'GET /api/operator/mails'>
export type OperatorAction = RowOf<'GET /api/operator/actions'>
export type Margin = RowOf<'GET /api/operator/margins'>
export type UpstreamReport = RowOf<'GET /api/operator/upstreams'>

/** An account with what an operator wants to know of it. */
export type AccountDetails = Answered<'GET /api/operator/accounts/:id'>

export type GrantFields = Asked<'POST /api/operator/accounts/:id/grants'>['body']

export const searchAccounts = (search: string) => ask('GET /api/operator/accounts', { query: { search } })
export const getAccountDetails = (id: string) => ask('GET /api/operator/accounts/:id', { params: { id } })
export const giveCredits = (id: string, body: GrantFields) =>
  ask('POST /api/operator/accounts/:id/grants', { params: { id }, body })
export const setAccountStatus = (id: string, verb: 'suspend' | 'activate') =>
  ask(`POST /api/operator/accounts/:id/${verb}`, { params: { id } })
export const getAnyCall = (id: string) => ask('GET /api/operator/calls/:id', { params: { id } })
export const getDeadMails = () => ask('GET /api/operator/mails')
export const retryMail = (id: string) => ask('POST /api/operator/mails/:id/retry', { params: { id } })
export const getMargins = (query: Asked<'GET /api/operator/margins'>['query']) =>
  ask('GET /api/operator/margins', { query })
export const getUpstreams = () => ask('GET /api/operator/upstreams')
export const getActions = () => ask('GET /api/operator/actions')

/** A version of the catalogue, without its content. */
export type CatalogueVersion = RowOf<'GET /api/operator/catalogue/versions'>

/** What is wrong with a catalogue, and what it would change. */
export type CatalogueCheck = Answered<'POST /api/operator/catalogue/check'>
export type CatalogueChange = CatalogueCheck['changes'][number]

export const getCatalogue = () => ask('GET /api/operator/catalogue')
export const checkCatalogue = (catalogue: unknown) => ask('POST /api/operator/catalogue/check', { body: { catalogue } })
export const applyCatalogue = (body: Asked<'POST /api/operator/catalogue'>['body']) =>
  ask('POST /api/operator/catalogue', { body })
export const getVersions = () => ask('GET /api/operator/catalogue/versions')
export const getVersion = (version: number) =>
  ask('GET /api/operator/catalogue/versions/:version', { params: { version: String(version) } })
export const rollBackTo = (version: number, expect: number) =>
  ask('POST /api/operator/catalogue/versions/:version/rollback', {
    params: { version: String(version) },
    body: { expect },
  })
