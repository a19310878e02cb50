/**
 * Every endpoint: the map to open first. A route is a list that is read from left to right.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import type { Modality } from '../shared/calls/lifecycle.ts'
import { showModels, showState } from './console/account.ts'
import { changeAccount, createAccount, login, logout, replacePassword, showAccount } from './console/auth.ts'
import { showCall, showCalls } from './console/calls.ts'
import { forgot, resend, reset, verify } from './console/email.ts'
import { followAccount } from './console/events.ts'
import { showGrants } from './console/grants.ts'
import { endKey, makeKey, showKeys } from './console/keys.ts'
import { showLedger } from './console/ledger.ts'
import { sendTestMail, showMail } from './console/mail.ts'
import { revokeSession, showSessions } from './console/sessions.ts'
import { showUsage } from './console/usage.ts'
import { routeConsole } from './console-app.ts'
import type { WebDeps } from './deps.ts'
import { routeDocs } from './docs.ts'
import { serveMedia } from './media.ts'
import { perClient } from './middleware/client-address.ts'
import { jsonBody, optionalJsonBody } from './middleware/json-body.ts'
import type { RequestState } from './middleware/request-context.ts'
import { perAccount, requireSession } from './middleware/session.ts'
import { DASHBOARD_PATH, createDashboard } from './ops/dashboard.ts'
import { healthz, readyz } from './ops/health.ts'
import { serveMetrics } from './ops/metrics.ts'
import { routeOperator } from './operator/routes.ts'
import { admit, recordRefusals, requireKey } from './v1/admission.ts'
import { fetchCall } from './v1/calls.ts'
import { createChat } from './v1/chat.ts'
import { createMedia } from './v1/media.ts'
import { listModels } from './v1/models.ts'

/** The table of all endpoints. */
export function createRouter(deps: WebDeps): Router<RequestState> {
  const router = new Router<RequestState>()
  gateway(router, deps)
  console(router, deps)
  records(router, deps)
  routeOperator(router, deps)
  operations(router, deps)
  routeConsole(router)
  routeDocs(router, deps)
  return router
}

/** `/v1`: API keys (specification "Gateway"). */
function gateway(router: Router<RequestState>, deps: WebDeps): void {
  const key = requireKey(deps)
  const call = (modality: Modality): Middleware<RequestState>[] =>
    [key, recordRefusals(deps, modality), admit(deps.limits.calls), jsonBody()]

  router.get('/v1/models', key, admit(deps.limits.calls), listModels(deps))
  router.post('/v1/images/generations', ...call('image'), createMedia(deps, 'image'))
  router.post('/v1/videos/generations', ...call('video'), createMedia(deps, 'video'))
  router.post('/v1/chat/completions', ...call('chat'), createChat(deps))
  router.get('/v1/calls/:id', key, admit(deps.limits.callReads), fetchCall(deps))
}

/** `/api`: session tokens (specification "Console"). */
function console(router: Router<RequestState>, deps: WebDeps): void {
  const { config: { TRUST_PROXY }, limits } = deps
  const session = requireSession(deps)

  router.post('/api/auth/register', perClient(limits.registrations, TRUST_PROXY), jsonBody(), createAccount(deps))
  router.post('/api/auth/login', perClient(limits.logins, TRUST_PROXY), jsonBody(), login(deps))
  router.post('/api/auth/logout', session, optionalJsonBody(), logout(deps))
  router.get('/api/auth/me', session, showAccount(deps))
  router.patch('/api/auth/me', session, jsonBody(), changeAccount(deps))
  router.post('/api/auth/password', session, perAccount(limits.passwordChanges), jsonBody(), replacePassword(deps))
  router.get('/api/auth/sessions', session, showSessions(deps))
  router.delete('/api/auth/sessions/:id', session, revokeSession(deps))

  router.post('/api/email/verify', jsonBody(), verify(deps))
  router.post('/api/email/resend', session, optionalJsonBody(), resend(deps))
  router.post('/api/email/forgot', perClient(limits.forgots, TRUST_PROXY), jsonBody(), forgot(deps))
  router.post('/api/email/reset', jsonBody(), reset(deps))

  router.get('/api/mail/status', session, showMail(deps))
  router.post('/api/mail/test', session, optionalJsonBody(), sendTestMail(deps))
}

/** `/api`: the keys of an account, and what was called, used and paid (contract section 6). */
function records(router: Router<RequestState>, deps: WebDeps): void {
  const session = requireSession(deps)

  router.post('/api/keys', session, jsonBody(), makeKey(deps))
  router.get('/api/keys', session, showKeys(deps))
  router.delete('/api/keys/:id', session, endKey(deps))

  router.get('/api/account', session, showState(deps))
  router.get('/api/models', session, showModels(deps))
  router.get('/api/events', session, followAccount(deps))

  router.get('/api/calls', session, showCalls(deps))
  router.get('/api/calls/:id', session, showCall(deps))
  router.get('/api/ledger', session, showLedger(deps))
  router.get('/api/grants', session, showGrants(deps))
  router.get('/api/usage', session, showUsage(deps))
}

/** Media results, health and what operators look at. */
function operations(router: Router<RequestState>, deps: WebDeps): void {
  router.get('/media/:name', serveMedia({ reader: deps.media }))
  router.get('/healthz', healthz)
  router.get('/readyz', readyz(deps))

  const { DASHBOARD_PASSWORD, METRICS_TOKEN } = deps.config
  if (METRICS_TOKEN !== undefined) router.get('/metrics', serveMetrics(deps.metrics, METRICS_TOKEN))
  if (DASHBOARD_PASSWORD !== undefined) router.all(`${DASHBOARD_PATH}{/*path}`, ...createDashboard(deps, DASHBOARD_PASSWORD))
}
