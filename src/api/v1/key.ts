/**
 * GET /v1/key: what the key of a request may do, and what is left of its budget.
 */
import { z } from 'zod'
import { findKey } from '../../shared/identity/shown-key.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { shownKey } from '../endpoint/key-schemas.ts'
import { apiKey } from '../endpoint/auth.ts'
import { CALL_LIMITS, allowanceHeaders, gateway } from './declared.ts'

/** Shows the key that the request carries. */
export const showKey = endpoint({
  ...gateway,
  method: 'get',
  path: '/v1/key',
  summary: 'Show the key of the request',
  auth: apiKey,
  limits: CALL_LIMITS,
  answers: {
    200: {
      description: 'The key with its limits, and the use of its budget.',
      schema: z.strictObject({ ok, key: shownKey }),
      headers: allowanceHeaders,
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({ ok: true, key: (await findKey(db, auth.keyId))! }))
