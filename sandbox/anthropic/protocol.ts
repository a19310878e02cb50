import type { Protocol } from '../exchange.ts'
import type { Fault, Fields } from '../wire.ts'
import { countTokensRoute } from './count-tokens.ts'
import { messagesRoute } from './messages.ts'

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function anthropicError({ status, message }: Fault): { body: Fields; headers: Record<string, string> } {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const requestId = 'req_sandbox'
  const body = { type: 'error', error: { type, message }, request_id: requestId }
  return { body, headers: { 'request-id': requestId } }
}

/** Anthropic's Messages API. */
export const anthropicProtocol: Protocol = {
  name: 'anthropic',
  keyOf: ({ 'x-api-key': key }) => (typeof key === 'string' && key ? key : undefined),
  envelope: anthropicError,
  outOfCredit: { status: 402, message: 'Your credit balance is too low to access the API.' },
  routes: [messagesRoute, countTokensRoute],
}
