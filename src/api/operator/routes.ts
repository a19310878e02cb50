/**
 * /api/operator: for accounts whose role is `admin`.
 */
import type Router from '@koa/router'
import type { WebDeps } from '../deps.ts'
import { jsonBody, optionalJsonBody } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { requireSession } from '../middleware/session.ts'
import { changeStanding, giveCredits, searchAccounts, showOperated } from './accounts.ts'
import { retryMail, showActions, showAnyCall, showDeadMails, showUpstreams } from './reports.ts'
import { requireOperator } from './require-operator.ts'

/** Adds the operators' endpoints to the table. */
export function routeOperator(router: Router<RequestState>, deps: WebDeps): void {
  const operator = [requireSession(deps), requireOperator(deps)]

  router.get('/api/operator/accounts', ...operator, searchAccounts(deps))
  router.get('/api/operator/accounts/:id', ...operator, showOperated(deps))
  router.post('/api/operator/accounts/:id/grants', ...operator, jsonBody(), giveCredits(deps))
  router.post('/api/operator/accounts/:id/suspend', ...operator, optionalJsonBody(), changeStanding(deps, 'suspended'))
  router.post('/api/operator/accounts/:id/activate', ...operator, optionalJsonBody(), changeStanding(deps, 'active'))
  router.get('/api/operator/calls/:id', ...operator, showAnyCall(deps))
  router.get('/api/operator/mails', ...operator, showDeadMails(deps))
  router.post('/api/operator/mails/:id/retry', ...operator, optionalJsonBody(), retryMail(deps))
  router.get('/api/operator/upstreams', ...operator, showUpstreams(deps))
  router.get('/api/operator/actions', ...operator, showActions(deps))
}
