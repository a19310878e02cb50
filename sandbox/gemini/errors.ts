import { Refusal } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const typed = (name: string, more: Fields): Fields => ({ '@type': `type.googleapis.com/google.rpc.${name}`, ...more })

/** An error in Google's envelope. `code`: its reason. A pause is in the body, and in no header. */
export function geminiError({ status, message, code, headers }: Fault): { body: Fields } {
  const seconds = headers?.['retry-after'] ?? (headers?.['retry-after-ms'] && Number(headers['retry-after-ms']) / 1000)
  const details = [
    ...(code ? [typed('ErrorInfo', { reason: code, domain: 'googleapis.com' })] : []),
    ...(seconds === undefined ? [] : [typed('RetryInfo', { retryDelay: `${seconds}s` })]),
  ]
  const known = STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNKNOWN')
  return { body: { error: { code: status, message, status: known, ...(details.length > 0 && { details }) } } }
}

/** A request that is refused with 400. */
export const invalid = (message: string): Refusal => new Refusal({ status: 400, message })
