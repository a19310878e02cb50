/**
 * How a request to the console API is put.
 */
import { language } from '../language/language.ts'

type Query = Record<string, string | undefined>

/** The path with its query; absent and empty fields are left out. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((field): field is [string, string] => Boolean(field[1]))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

/**
 * A request in the reader's language, with the session token, if there is one, and with `fields` as JSON. The one
 * cookie binds a sign-in to this browser.
 */
export const requestOf = (method: string, token: string | null, fields?: Record<string, unknown>): RequestInit => ({
  method,
  cache: 'no-store',
  credentials: 'same-origin',
  headers: {
    'accept-language': language,
    ...(fields && { 'content-type': 'application/json' }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
  },
  body: fields && JSON.stringify(fields),
})
