/**
 * Errors of the Messages API (Anthropic's API reference, "Errors").
 */

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
}

/** The type of an error by its HTTP status. */
export const anthropicTypeOf = (status: number): string =>
  TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
