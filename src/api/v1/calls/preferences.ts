/**
 * What a client prefers (`Prefer`, RFC 7240).
 */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * The preferences of a request in lower case, without the parameters behind their semicolons. Commas in
 * quotes separate nothing.
 */
export const preferencesOf = ({ prefer }: IncomingHttpHeaders): string[] =>
  (String(prefer ?? '').match(/(?:"[^"]*"?|[^",])+/g) ?? []).map((text) => text.split(';', 1)[0]!.trim().toLowerCase())

/** Whether a client asks to fetch its answer later. */
export const prefersLater = (headers: IncomingHttpHeaders): boolean => preferencesOf(headers).includes('respond-async')
