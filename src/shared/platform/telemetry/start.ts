/**
 * Traces and metrics for OpenTelemetry. Without OTEL_EXPORTER_OTLP_ENDPOINT there are none, and nothing of it is loaded
 * (docs/operations.md#opentelemetry).
 */
import type { Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { Log } from '../process/log.ts'
import type { Telemetry } from './telemetry.ts'

type Settings = Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_METRICS_EXPORTER'>

/** Starts the export of spans, and of the metrics of a registry; null if there is no endpoint. */
export async function startTelemetry(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER }: Settings,
  { process, registry, log }: { process: 'web' | 'worker'; registry: Registry; log: Log },
): Promise<Telemetry | null> {
  if (endpoint === undefined) return null
  const { exportTo } = await import('./opentelemetry.ts')
  return exportTo(endpoint, { process, registry: OTEL_METRICS_EXPORTER === 'none' ? null : registry, log })
}
