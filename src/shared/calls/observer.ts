/**
 * Who measures the verbs. They tell what they did after it was done; a process that measures nothing tells nobody. Types
 * only: what is counted, and under which names, is the business of `src/shared/metrics`.
 */
import type { EndedRow } from './statements.ts'
import type { OpenRequest } from './types.ts'
import type { Modality } from './lifecycle.ts'

export type CallsObserver = {
  /** A statement that opens or ends calls carries so many of them. */
  batch: (verb: 'open' | 'end', size: number) => void
  /** A call was charged and opened, in so many ms. */
  opened: (request: OpenRequest, ms: number) => void
  /** A worker has taken a call for the first time, so many ms after its acceptance, by the database's clock. */
  begun: (modality: Modality, waitedMs: number) => void
  /** A call has ended, and writing that took so many ms. */
  ended: (call: EndedRow, ms: number) => void
}
