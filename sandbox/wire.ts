import type { IncomingHttpHeaders } from 'node:http'

/** A JSON object. */
export type Fields = Record<string, unknown>

/** What is wrong with a request; every protocol puts it into its own envelope. */
export interface Fault {
  readonly status: number
  readonly message: string
  readonly code?: string
  readonly param?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of a protocol's envelope. */
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

/** The value as an object; empty for anything else. */
export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The value as a string; empty for anything else. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
