import type { Protocol } from '../exchange.ts'
import { authorizationKey } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'
import { predictionRoutes } from './predictions.ts'

const TITLES: Readonly<Record<number, string>> = {
  401: 'Unauthenticated',
  402: 'Insufficient credit',
  404: 'Not found',
  422: 'Input validation failed',
  429: 'Request was throttled',
}

function replicateError({ status, message, param }: Fault): { body: Fields } {
  const title = TITLES[status] ?? 'Request failed'
  if (!param) return { body: { title, detail: message, status } }
  const invalidFields = [{ field: `input.${param}`, description: message, type: 'required' }]
  return { body: { title, detail: `- input: ${message}\n`, status, invalid_fields: invalidFields } }
}

/** Replicate's predictions. */
export const replicateProtocol: Protocol = {
  name: 'replicate',
  keyOf: (headers) => authorizationKey(headers, 'Bearer') ?? authorizationKey(headers, 'Token'),
  envelope: replicateError,
  outOfCredit: { status: 402, message: 'You have insufficient credit to run this model.' },
  routes: predictionRoutes,
}
