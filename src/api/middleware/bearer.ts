/**
 * The token that a request carries.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../shared/platform/errors.ts'

/** RFC 6750: one token of b68 characters. */
const TOKEN = /^[\w.~+/=-]{1,512}$/

/** The scheme in any case. */
const SCHEME = /^bearer(?: +|$)/i

/** The text after `Bearer` in an Authorization header; nothing under another scheme. */
const behindBearer = (header: string): string => (SCHEME.test(header) ? header.replace(SCHEME, '').trimEnd() : '')

/** The token in an Authorization header. @throws ApiError unauthorized if it has no token. */
export function bearerToken(header: string): string {
  const token = behindBearer(header)
  if (TOKEN.test(token)) return token
  throw new ApiError('unauthorized', { message: 'Send the key or session token as "Authorization: Bearer <token>".' })
}

/**
 * The API key of a request, from `Authorization: Bearer` or from `x-api-key`. An Authorization of another scheme is
 * for somebody else, such as a proxy on the way, and one with nothing after `Bearer` is no key: neither counts next to
 * `x-api-key`.
 * @throws ApiError unauthorized if there is no key, or two that differ
 */
export function apiKeyToken({ authorization = '', 'x-api-key': given }: IncomingHttpHeaders): string {
  const key = String(given ?? '')
  const bearer = behindBearer(authorization)
  if (key !== '' && bearer !== '' && key !== bearer) {
    throw new ApiError('unauthorized', {
      message: 'Authorization and x-api-key name different keys. Send one of them.',
    })
  }
  const token = key || bearer
  if (TOKEN.test(token)) return token
  throw new ApiError('unauthorized', { message: 'Send the key as "Authorization: Bearer <key>" or as "x-api-key".' })
}
