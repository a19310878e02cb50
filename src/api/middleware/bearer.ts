/**
 * The bearer token of a request.
 */
import { ApiError } from '../../shared/platform/errors.ts'

/** RFC 6750: the scheme in any case, one token of b68 characters. */
const BEARER = /^bearer +([\w.~+/=-]{1,512}) *$/i

/** The token in an Authorization header. @throws ApiError unauthorized where there is none. */
export function bearerToken(header: string): string {
  const match = BEARER.exec(header)
  if (!match)
    throw new ApiError('unauthorized', { message: 'Send the key or session token as "Authorization: Bearer <token>".' })
  return match[1]!
}
