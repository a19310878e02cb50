import type { IncomingHttpHeaders } from 'node:http'

/** A JSON object. */
export type Fields = Record<string, unknown>

/** What is wrong with a request, in words that every protocol can put into an envelope of its own. */
export interface Fault {
  readonly status: number
  readonly message: string
  readonly code?: string
  readonly param?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What a protocol's envelope says beside the above. */
  readonly details?: Fields
}

/** Thrown by a handler to answer with a fault. */
export class Refusal extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/** The key of an `Authorization: <scheme> <key>` header; undefined without the header or under another scheme. */
export function authorizationKey(headers: IncomingHttpHeaders, scheme: string): string | undefined {
  const [given, key] = (headers.authorization ?? '').split(/ +/, 2)
  return given?.toLowerCase() === scheme.toLowerCase() && key ? key : undefined
}

/** The value as an object; an empty one where it is none. */
export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The value as a string; empty where it is none. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
