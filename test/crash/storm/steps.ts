import { FAILPOINTS } from '../../../src/shared/infra/failpoints.ts'
import type { FailpointName } from '../../../src/shared/infra/failpoints.ts'
import type { Kind } from '../../../scripts/harness/installation.ts'

/** Steps at which only an orderly stop arrives. */
const WHEN_STOPPING: readonly FailpointName[] = ['call.requeuing', 'call.requeued']

const WEB_STEPS: readonly FailpointName[] = [
  'call.opening',
  'call.opened',
  'call.enqueuing',
  'call.enqueued',
  'call.answering',
]

// That the reconciler dies at the steps that are a web process' else is a test of its own: takeovers.test.ts.
const WORKER_STEPS = (Object.keys(FAILPOINTS) as FailpointName[]).filter(
  (name) => !WHEN_STOPPING.includes(name) && !WEB_STEPS.includes(name),
)

/** The steps that a process of this kind passes. */
export const stepsOf = (kind: Kind): readonly FailpointName[] => (kind === 'web' ? WEB_STEPS : WORKER_STEPS)
