/**
 * The metrics of a process as OpenTelemetry's: the very ones of `/metrics`, under the same names, so that one dashboard
 * serves both.
 */
import { ValueType } from '@opentelemetry/api'
import type { HrTime } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'
import type { DataPoint, Histogram, MetricData, MetricProducer } from '@opentelemetry/sdk-metrics'
import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'

type Metric = MetricObjectWithValues<MetricValueWithName<string>>
type Times = Pick<DataPoint<number>, 'startTime' | 'endTime'>

/** Reads a registry at each export. */
export function metricsOf(registry: Registry, resource: Resource): MetricProducer {
  const startTime = hrTime(performance.timeOrigin)
  return {
    collect: async () => {
      const times = { startTime, endTime: hrTime(Date.now()) }
      const metrics = (await registry.getMetricsAsJSON()).flatMap((metric) => converted(metric as Metric, times))
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'tollgate' }, metrics }] }, errors: [] }
    },
  }
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/** Metrics without values are skipped, and so are summaries (the registry has none). */
function converted(metric: Metric, times: Times): MetricData[] {
  if (metric.values.length === 0) return []
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: unitOf(metric.name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  // prom-client's types declare a numeric enum; the values at run time are names.
  switch (String(metric.type)) {
    case 'counter':
      return [
        { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: pointsOf(metric.values, times) },
      ]
    case 'gauge':
      return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints: pointsOf(metric.values, times) }]
    case 'histogram':
      return [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(metric, times) }]
    default:
      return []
  }
}

const unitOf = (name: string): string => (/_seconds(_total)?$/.test(name) ? 's' : name.endsWith('_bytes') ? 'By' : '1')

const pointsOf = (values: Metric['values'], times: Times): DataPoint<number>[] =>
  values.map(({ labels, value }) => ({ ...times, attributes: labels as Record<string, string | number>, value }))

/** A bucket of Prometheus counts everything up to its bound; one of OpenTelemetry only what the one before does not. */
function histogramsOf({ name, values }: Metric, times: Times): DataPoint<Histogram>[] {
  const byLabels = new Map<string, DataPoint<Histogram>>()
  for (const { labels, value, metricName } of values) {
    const { le, ...attributes } = labels as Record<string, string | number>
    const key = JSON.stringify(attributes)
    const point = byLabels.get(key) ?? {
      ...times,
      attributes,
      value: { buckets: { boundaries: [], counts: [] }, count: 0 },
    }
    byLabels.set(key, point)
    const { buckets } = point.value
    if (metricName === `${name}_sum`) point.value.sum = value
    else if (metricName === `${name}_count`) point.value.count = value
    else {
      buckets.counts.push(value)
      if (le !== '+Inf') buckets.boundaries.push(Number(le))
    }
  }
  for (const { value } of byLabels.values()) {
    value.buckets.counts = value.buckets.counts.map((count, at, all) => count - (all[at - 1] ?? 0))
  }
  return [...byLabels.values()]
}
