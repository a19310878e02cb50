import type { Protocol } from '../exchange.ts'
import { authorizationKey } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'
import { queueRoutes } from './queue.ts'

/** A fault of one field is a list of details, as fal's models answer; any other is one sentence. */
function falError({ status, message, code, param }: Fault): { body: Fields; headers?: Record<string, string> } {
  const loc = ['body', param ?? 'prompt']
  const detail = status === 422 ? [{ loc, msg: message, type: code ?? 'value_error' }] : message
  return { body: { detail }, ...(code && { headers: { 'x-fal-error-type': code } }) }
}

/** The queue of fal: submit, ask for the status, fetch the result. */
export const falProtocol: Protocol = {
  name: 'fal',
  keyOf: (headers) => authorizationKey(headers, 'Key'),
  envelope: falError,
  outOfCredit: { status: 403, message: 'User is locked. Reason: Exhausted balance.' },
  routes: queueRoutes,
}
