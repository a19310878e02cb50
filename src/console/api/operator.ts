/**
 * The operators' API.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { removal } from './client.ts'
import { ask } from './declared.ts'
import type { CallQuery } from './endpoints.ts'

export type ListedAccount = RowOf<'GET /api/operator/accounts'>
export type OperatedAccount = Answered<'GET /api/operator/accounts/:id'>['account']
export type MailRecord = RowOf<'GET /api/operator/mails'>
export type OperatorAction = RowOf<'GET /api/operator/actions'>
export type Margin = RowOf<'GET /api/operator/margins'>
/** How the service does. */
export type Overview = Answered<'GET /api/operator/overview'>
export type UpstreamReport = RowOf<'GET /api/operator/upstreams'>
/** A request to an upstream for a call. */
export type Attempt = Answered<'GET /api/operator/calls/:id'>['attempts'][number]

/** An account with its details for operators. */
export type AccountDetails = Answered<'GET /api/operator/accounts/:id'>

export type GrantFields = Asked<'POST /api/operator/accounts/:id/grants'>['body']

export const getOverview = () => ask('GET /api/operator/overview')
/** Filters are passed as the address has them: the server reports what is wrong with them. */
export const searchAccounts = (query: { search?: string; standing?: string; sort?: string; cursor?: string }) =>
  ask('GET /api/operator/accounts', { query: query as Asked<'GET /api/operator/accounts'>['query'] })
export const getAccountDetails = (id: string) => ask('GET /api/operator/accounts/:id', { params: { id } })
export const giveCredits = (id: string, body: GrantFields) =>
  ask('POST /api/operator/accounts/:id/grants', { params: { id }, body })
export type AccountLimits = Asked<'PATCH /api/operator/accounts/:id/limits'>['body']
export const limitAccount = (id: string, body: AccountLimits) =>
  ask('PATCH /api/operator/accounts/:id/limits', { params: { id }, body })
export const getKeysOf = (id: string) => ask('GET /api/operator/accounts/:id/keys', { params: { id } })
export const limitAnyKey = (id: string, body: Asked<'PATCH /api/operator/keys/:id'>['body']) =>
  ask('PATCH /api/operator/keys/:id', { params: { id }, body })
export const revokeAnyKey = (id: string) => ask('DELETE /api/operator/keys/:id', { params: { id } })
export const endSecretOf = (id: string) => ask('POST /api/operator/keys/:id/rotate', { params: { id } })
export const takeCredits = (id: string, body: Asked<'POST /api/operator/accounts/:id/deductions'>['body']) =>
  ask('POST /api/operator/accounts/:id/deductions', { params: { id }, body })
export const getSessionsOf = (id: string) => ask('GET /api/operator/accounts/:id/sessions', { params: { id } })
export const endSessionsOf = (id: string) => ask('DELETE /api/operator/accounts/:id/sessions', { params: { id } })
export const endSessionOf = (id: string) => removal(ask('DELETE /api/operator/sessions/:id', { params: { id } }))
export const getLedgerOf = (id: string, cursor?: string) =>
  ask('GET /api/operator/accounts/:id/ledger', { params: { id }, query: { cursor } })
export const setAccountStatus = (id: string, verb: 'suspend' | 'activate') =>
  ask(`POST /api/operator/accounts/:id/${verb}`, { params: { id } })
export const setAccountGroup = (id: string, group: string | null) =>
  ask('PUT /api/operator/accounts/:id/group', { params: { id }, body: { group } })
/** What the calls of all can be narrowed to; texts as in the address. */
export type AnyCallQuery = CallQuery & {
  account?: string
  upstream?: string
  errorType?: string
  sort?: string
  cursor?: string
}
export type AnyCall = RowOf<'GET /api/operator/calls'>

/** Filters are passed as the address has them: the server reports what is wrong with them. */
export const getAnyCalls = (query: AnyCallQuery) =>
  ask('GET /api/operator/calls', { query: query as Asked<'GET /api/operator/calls'>['query'] })
export const getAnyCall = (id: string) => ask('GET /api/operator/calls/:id', { params: { id } })
export const getDeadMails = (cursor?: string) => ask('GET /api/operator/mails', { query: { cursor } })
export const discardMail = (id: string) => removal(ask('DELETE /api/operator/mails/:id', { params: { id } }))
export const retryMail = (id: string) => ask('POST /api/operator/mails/:id/retry', { params: { id } })
export const getMargins = (query: Asked<'GET /api/operator/margins'>['query']) =>
  ask('GET /api/operator/margins', { query })
export const getUpstreams = () => ask('GET /api/operator/upstreams')
type KeyParams = { upstream: string; key: string }
export const switchUpstreamKey = (params: KeyParams, verb: 'disable' | 'enable') =>
  ask(`POST /api/operator/upstreams/:upstream/keys/:key/${verb}`, { params })
export const testUpstreamKey = (params: KeyParams) =>
  ask('POST /api/operator/upstreams/:upstream/keys/:key/test', { params })
/** Filters are passed as the address has them: the server reports what is wrong with them. */
export const getActions = (query: Record<string, string | undefined>) =>
  ask('GET /api/operator/actions', { query: query as Asked<'GET /api/operator/actions'>['query'] })

export type BannerFields = Asked<'PUT /api/operator/banner'>['body']
export const getTheBanner = () => ask('GET /api/operator/banner')
export const setBanner = (body: BannerFields) => ask('PUT /api/operator/banner', { body })
export const removeBanner = () => ask('DELETE /api/operator/banner')

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
export const rollBackTo = (
  version: number,
  body: Asked<'POST /api/operator/catalogue/versions/:version/rollback'>['body'],
) => ask('POST /api/operator/catalogue/versions/:version/rollback', { params: { version: String(version) }, body })

export type OperatorsEvent = Asked<'POST /api/operator/webhooks'>['body']['types'][number]
export const getOperatorsWebhooks = () => ask('GET /api/operator/webhooks')
export const addOperatorsWebhook = (url: string, types: OperatorsEvent[]) =>
  ask('POST /api/operator/webhooks', { body: { url, types } })
export const switchOperatorsWebhook = (id: string, disabled: boolean) =>
  ask('PATCH /api/operator/webhooks/:id', { params: { id }, body: { disabled } })
export const rotateOperatorsWebhook = (id: string) => ask('POST /api/operator/webhooks/:id/rotate', { params: { id } })
export const testOperatorsWebhook = (id: string) => ask('POST /api/operator/webhooks/:id/test', { params: { id } })
export const getOperatorsWebhook = (id: string) => ask('GET /api/operator/webhooks/:id', { params: { id } })
export const getOperatorsDeliveries = (id: string, cursor?: string) =>
  ask('GET /api/operator/webhooks/:id/deliveries', { params: { id }, query: { cursor } })
export const getOperatorsDelivery = (id: string, delivery: string) =>
  ask('GET /api/operator/webhooks/:id/deliveries/:delivery', { params: { id, delivery } })
export const redeliverOperatorsEvent = (id: string, delivery: string) =>
  ask('POST /api/operator/webhooks/:id/deliveries/:delivery/redeliver', { params: { id, delivery } })
export const removeOperatorsWebhook = (id: string) =>
  removal(ask('DELETE /api/operator/webhooks/:id', { params: { id } }))
