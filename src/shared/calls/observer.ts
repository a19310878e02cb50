/**
 * What a process can measure of the verbs: each is reported after it was done. Types only; metrics and their names
 * are in `src/shared/metrics`.
 */
import type { EndedRow } from './statements.ts'
import type { OpenRequest } from './types.ts'
import type { Modality } from '../terms/kinds.ts'

/** The tokens of a call that has ended, as its row has them; 0 where there are none. */
type EndedTokens = { input: number; output: number }

/** What is reported of each verb that changed a call, once it has committed. */
export type CallsObserver = {
  /** How many calls one statement opened or ended. */
  batch: (verb: 'open' | 'end', size: number) => void
  /** A call was charged and opened, which took `ms`. */
  opened: (request: OpenRequest, ms: number) => void
  /** A worker has taken a call for the first time, `waitedMs` after its acceptance by the database's clock. */
  begun: (modality: Modality, waitedMs: number) => void
  /** A call has ended, and writing that took `ms`. */
  ended: (call: EndedRow, ms: number, tokens: EndedTokens) => void
}
