import { FAILPOINTS } from '../../../src/shared/platform/process/failpoints.ts'
import type { FailpointName } from '../../../src/shared/platform/process/failpoints.ts'
import type { Kind } from '../../../scripts/harness/installation.ts'

/** Steps that only an orderly stop reaches. */
const WHEN_STOPPING: readonly FailpointName[] = ['call.requeuing', 'call.requeued']

const WEB_STEPS: readonly FailpointName[] = [
  'call.opening',
  'call.opened',
  'call.enqueuing',
  'call.enqueued',
  'call.answering',
  'call.deleted',
]

// takeovers.test.ts kills the reconciler at steps that otherwise only a web process reaches.
const WORKER_STEPS = (Object.keys(FAILPOINTS) as FailpointName[]).filter(
  (name) => !WHEN_STOPPING.includes(name) && !WEB_STEPS.includes(name) && !name.startsWith('payment.'),
)

/** The steps that a process of this kind reaches. */
export const stepsOf = (kind: Kind): readonly FailpointName[] => (kind === 'web' ? WEB_STEPS : WORKER_STEPS)
