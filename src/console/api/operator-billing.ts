/**
 * The operators' API of payments, codes and debts.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { ask } from './declared.ts'

export type OperatedPayment = RowOf<'GET /api/operator/payments'>
/** A payment with what it moved; `spent`: how many of its credits are already used. */
export type PaymentDetails = Answered<'GET /api/operator/payments/:id'>
export type RedemptionCode = RowOf<'GET /api/operator/codes'>
export type Debtor = RowOf<'GET /api/operator/debts'>

type Search = Asked<'GET /api/operator/payments'>['query']

/** Filters are passed as the address has them: the server reports what is wrong with them. */
export const searchPayments = (query: { search?: string; status?: string; sort?: string; cursor?: string }) =>
  ask('GET /api/operator/payments', { query: query as Search })
export const getPayment = (id: string) => ask('GET /api/operator/payments/:id', { params: { id } })
export const checkPayment = (id: string) => ask('POST /api/operator/payments/:id/sync', { params: { id } })
export const refundPayment = (id: string, body: { amountMinor?: number; force?: boolean }) =>
  ask('POST /api/operator/payments/:id/refund', { params: { id }, body })
export const resolvePayment = (id: string, verdict: 'grant' | 'dismiss') =>
  ask('POST /api/operator/payments/:id/resolve', { params: { id }, body: { verdict } })
export const getCodes = () => ask('GET /api/operator/codes')
export const createCode = (body: Asked<'POST /api/operator/codes'>['body']) => ask('POST /api/operator/codes', { body })
export const disableCode = (id: string) => ask('POST /api/operator/codes/:id/disable', { params: { id } })
export const getDebts = () => ask('GET /api/operator/debts')
export const forgiveDebt = (id: string) => ask('POST /api/operator/accounts/:id/forgive-debt', { params: { id } })
