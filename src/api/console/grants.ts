/**
 * GET /api/grants: where an account's credits came from, and what is left of each grant.
 */
import { listGrants } from '../../shared/ledger/ledger.ts'
import { grant, listOf } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { manager } from '../endpoint/auth.ts'

/** Lists the grants, newest first. Their remainders add up to the balance. */
export const showGrants = endpoint({
  method: 'get',
  path: '/api/grants',
  tag: 'Records',
  summary: 'List the grants',
  description: 'Their remainders add up to the balance.',
  auth: manager,
  answers: { 200: { description: 'All grants, newest first.', schema: listOf(grant) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listGrants(db, auth.accountId),
}))
