/** The words of upstreams for the state of a task. They copy each other's protocols, but not each other's words. */
import { saysAnything } from '../../../shared/chat/deltas.ts'
import type { Fields } from '../../../shared/platform/fields.ts'

const DONE = new Set(['succeeded', 'success', 'completed', 'complete', 'done', 'finished'])
const FAILED = new Set([
  'failed',
  'failure',
  'error',
  'canceled',
  'cancelled',
  'expired',
  'aborted',
  'rejected',
  'timeout',
  'timed_out',
])

/** The state of a task. An unknown word is `running`: the call's deadline ends it. Only an error is a failure. */
export function standing({ status, error }: Fields): 'running' | 'done' | 'failed' {
  const word = typeof status === 'string' ? status.toLowerCase() : ''
  if (DONE.has(word)) return 'done'
  return FAILED.has(word) || (word === '' && saysAnything(error)) ? 'failed' : 'running'
}

/** The status word of a failed task. */
export const wordOf = ({ status }: Fields): string => (typeof status === 'string' && status !== '' ? status : 'error')
