/** The telemetry of a process, as its callers use it. */
/** The attributes of a span; undefined ones are omitted. Never prompts, answers, addresses of clients or secrets. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>

/** `server`: a request to us; `producer` and `consumer`: a job; `client`: a request to an upstream. */
export type SpanRole = 'server' | 'producer' | 'consumer' | 'client'

/** How a span ended. `failure`: the kind of its failure. `name`: where it is only known at the end. */
export type SpanEnd = { name?: string; attributes?: SpanAttributes; failure?: string | undefined }

/** A piece of work, as a part of its trace. */
export type Span = {
  /** The W3C trace context of everything that happens within it. */
  traceparent: string
  end: (how?: SpanEnd) => void
}

/** The telemetry of a process. */
export type Telemetry = {
  /** Begins a span. @param parent the trace context that it belongs to; without one it begins a trace. */
  begin: (role: SpanRole, name: string, parent: string | undefined, attributes?: SpanAttributes) => Span
  /** Sends what has not been sent yet, for two seconds at the most. */
  stop: () => Promise<void>
}

/** The attributes of jobs' spans about their queue. */
export const ofQueue = (queue: string): SpanAttributes => ({
  'messaging.system': 'bullmq',
  'messaging.destination.name': queue,
})

/** The attributes of the span of a job's run. */
export const processing = (queue: string): SpanAttributes => ({
  ...ofQueue(queue),
  'messaging.operation.type': 'process',
})

/** What begins a span: see `begin`. */
type Begun = { role: SpanRole; name: string; parent: string | undefined; attributes?: SpanAttributes }

/**
 * Does something within a span of its own. @param work gets its trace context. @param kindOf the kind of its failure.
 * @throws what the work throws.
 */
export async function withinSpan<T>(
  telemetry: Telemetry,
  { role, name, parent, attributes }: Begun,
  work: (traceparent: string) => Promise<T>,
  kindOf: (error: unknown) => string,
): Promise<T> {
  const span = telemetry.begin(role, name, parent, attributes)
  try {
    const done = await work(span.traceparent)
    span.end()
    return done
  } catch (error) {
    span.end({ failure: kindOf(error) })
    throw error
  }
}
