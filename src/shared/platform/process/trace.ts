/**
 * The origin of a call: the id of its request and the client's W3C trace context. Both travel with the job and are in
 * every log line about the call. The context is passed on to the upstream unchanged where the gateway makes no spans
 * of its own (src/shared/platform/telemetry). `tracestate` is not passed on: it is the client's, not the provider's.
 */

/** What follows a request from process to process. `traceparent`: as W3C Trace Context has it. */
export type Trace = { requestId: string; traceparent?: string }

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/**
 * The trace context of a `traceparent` header, in version 00; undefined for one that is not valid, which is ignored as
 * if it were absent (W3C Trace Context, sections 3.2 and 4.3: of later versions the known part counts).
 */
export function parseTraceparent(header: string): string | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(header) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(parentId) || (version === '00' && rest !== undefined)) return undefined
  return `00-${traceId}-${parentId}-${version === '00' ? flags : `0${Number.parseInt(flags, 16) & 1}`}`
}

/** The trace fields of a log line. */
export const traceFields = ({ requestId, traceparent }: Partial<Trace> = {}): Partial<Trace> => ({
  ...(requestId && { requestId }),
  ...(traceparent && { traceparent }),
})
