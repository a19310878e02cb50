/**
 * Telemetry by OpenTelemetry's own packages, over OTLP/HTTP. Loaded only where an endpoint is set. Nothing is patched
 * and nothing is global: spans are begun where the work is.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import type { Context, SpanContext } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import type { Resource } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Registry } from 'prom-client'
import type { Log } from '../process/log.ts'
import { RELEASE } from '../process/release.ts'
import { metricsOf } from './metrics.ts'
import type { Span, SpanRole, Telemetry } from './telemetry.ts'

const KINDS: Record<SpanRole, SpanKind> = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
}

/** How often metrics are sent, and how long the rest may take at a stop, in ms. */
const METRICS_EVERY_MS = 60_000
const STOP_MS = 2000

/** How often a failing export is logged, in ms. */
const TELL_EVERY_MS = 60_000

/** @param about `registry` is null if no metrics are wanted. */
export function exportTo(
  endpoint: string,
  { process, registry, log }: { process: 'web' | 'worker'; registry: Registry | null; log: Log },
): Telemetry {
  tellOfFailures(log)
  // What the operator sets by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES comes last, and wins.
  const resource = defaultResource()
    .merge(
      resourceFromAttributes({
        'service.namespace': 'tollgate',
        'service.name': `tollgate-${process}`,
        'service.version': RELEASE,
        'service.instance.id': randomUUID(),
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }))
  const spans = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }))],
  })
  const metrics = registry && exportMetrics(`${endpoint}/v1/metrics`, resource, registry)
  const tracer = spans.getTracer('tollgate', RELEASE)
  return {
    begin: (role, name, parent, attributes = {}) => {
      const span = tracer.startSpan(name, { kind: KINDS[role], attributes }, contextOf(parent))
      return {
        traceparent: textOf(span.spanContext()),
        end: ({ name: final, attributes: more, failure } = {}) => {
          if (final !== undefined) span.updateName(final)
          if (more) span.setAttributes(more)
          if (failure !== undefined) span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      } satisfies Span
    },
    stop: async () => {
      const sent = Promise.allSettled([spans.shutdown(), metrics?.shutdown()])
      await Promise.race([sent, pause(STOP_MS, undefined, { ref: false })])
    },
  }
}

function exportMetrics(url: string, resource: Resource, registry: Registry): MeterProvider {
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url }),
    exportIntervalMillis: METRICS_EVERY_MS,
    metricProducers: [metricsOf(registry, resource)],
  })
  return new MeterProvider({ resource, readers: [reader] })
}

/** An unreachable endpoint costs nothing but the data that it would have received. */
function tellOfFailures(log: Log): void {
  let toldAt = -TELL_EVERY_MS
  setGlobalErrorHandler((error) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    log.warn({ err: error }, 'telemetry not exported')
  })
}

/** A trace context in version 00, as `parseTraceparent` gives it. */
function contextOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string]
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  })
}

const textOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`
