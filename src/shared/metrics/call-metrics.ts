/** Metrics of calls: how many, how long each stage takes, and the credits they move. */
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CallsObserver } from '../calls/statements.ts'

/** From a statement's millisecond to a video's hour, in seconds. */
const STAGE_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600,
]

/** Powers of two up to the largest batch. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64]

/**
 * The life of a call in order; `upstream` is from its first beginning to its end, with every try, pause and poll in it.
 */
type Stage = 'charge' | 'queue' | 'upstream' | 'settle' | 'reply'

/** What the metrics of calls are fed by: the verbs, and the stages of a call in ms. */
export type CallMetrics = { observer: CallsObserver; stage: (stage: Stage, modality: string, ms: number) => void }

/** Counts what the verbs of this process do. */
export function measureCalls(registry: Registry): CallMetrics {
  const stages = new Histogram({
    name: 'tollgate_call_stage_seconds',
    help: 'How long a stage of a call took: charge, queue, upstream, settle, reply.',
    labelNames: ['stage', 'modality'],
    buckets: STAGE_BUCKETS,
    registers: [registry],
  })
  const batches = new Histogram({
    name: 'tollgate_batch_size',
    help: 'Calls that one statement opened or ended.',
    labelNames: ['verb'],
    buckets: BATCH_BUCKETS,
    registers: [registry],
  })
  const { opened, ended, charged, settled, refunded, uncollected, tokens } = counters(registry)
  const stage = (name: Stage, modality: string, ms: number): void =>
    stages.observe({ stage: name, modality }, ms / 1000)
  return {
    stage,
    observer: {
      batch: (verb, size) => batches.observe({ verb }, size),
      opened: ({ modality, model, amount }, ms) => {
        stage('charge', modality, ms)
        opened.inc({ modality, model })
        charged.inc({ model }, amount)
      },
      begun: (modality, waitedMs) => stage('queue', modality, waitedMs),
      ended: (
        { modality, model, status, upstream, precharged, credits, uncollected: missing, running_ms },
        ms,
        read,
      ) => {
        stage('settle', modality, ms)
        if (running_ms !== null) stage('upstream', modality, running_ms)
        ended.inc({ modality, model, status, upstream: upstream ?? 'none' })
        if (status === 'failed') refunded.inc({ model }, precharged)
        else settled.inc({ model }, credits)
        if (read.input > 0) tokens.inc({ model, direction: 'input' }, read.input)
        if (read.output > 0) tokens.inc({ model, direction: 'output' }, read.output)
        if (missing > 0) uncollected.inc({ model }, missing)
      },
    },
  }
}

function counters(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name: `tollgate_${name}_total`, help, labelNames, registers: [registry] })
  return {
    opened: counter('calls_opened', 'Calls that were charged and opened.', ['modality', 'model']),
    ended: counter('calls_ended', 'Calls that ended, by how and by the upstream that served or failed them.', [
      'modality',
      'model',
      'status',
      'upstream',
    ]),
    charged: counter('credits_charged', 'Credits charged when calls were opened.', ['model']),
    settled: counter('credits_settled', 'Credits that succeeded calls cost in the end.', ['model']),
    refunded: counter('credits_refunded', 'Credits given back for failed calls.', ['model']),
    tokens: counter('tokens', 'Tokens of chats that ended, as they were billed.', ['model', 'direction']),
    uncollected: counter('credits_uncollected', 'Credits that calls cost beyond what their accounts had.', ['model']),
  }
}
