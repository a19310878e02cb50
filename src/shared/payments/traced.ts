/** A provider whose answers are spans of a trace. */
import type { Telemetry } from '../platform/telemetry/telemetry.ts'
import { withinSpan } from '../platform/telemetry/telemetry.ts'
import type { Provider } from './provider.ts'
import { ProviderUnavailable, ProviderRefused, wrapped } from './provider.ts'

/** The same provider; each question to it is a span below `parent`, a trace context. */
export const traced = (provider: Provider, telemetry: Telemetry, parent: string): Provider =>
  wrapped(
    provider,
    (name, question) =>
      (...args) =>
        withinSpan(
          telemetry,
          { role: 'client', name: `${provider.name} ${name}`, parent },
          () => question(...args),
          kindOf,
        ),
  )

/** The kind of a failure: never its message, which may have personal data in it. */
function kindOf(error: unknown): string {
  if (error instanceof ProviderUnavailable) return 'away'
  return error instanceof ProviderRefused ? error.reason : 'internal_error'
}
