import { Refusal } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'

const KINDS: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['permission_error', null],
  429: ['requests', 'rate_limit_exceeded'],
  500: ['server_error', null],
  503: ['server_error', 'server_is_overloaded'],
}

/** An error in OpenAI's envelope. */
export function openaiError({ status, message, code, param }: Fault): { body: Fields } {
  const [type, usual] = KINDS[status] ?? [status < 500 ? 'invalid_request_error' : 'server_error', null]
  const isQuota = code === 'insufficient_quota'
  return { body: { error: { message, type: isQuota ? code : type, param: param ?? null, code: code ?? usual } } }
}

/** A request that is refused for one of its fields. */
export function invalid(message: string, param: string): Refusal {
  return new Refusal({ status: 400, message, param })
}
