/**
 * The canonical form of an answer: the decoder of each upstream protocol turns what the upstream sends into these
 * events, and the encoder of each dialect turns them into frames for its client (docs/architecture.md#dialects).
 */

/**
 * Why an answer ended: the model was `done`, met a `stop_sequence`, ran into its `length` or into the end of its
 * `context`, calls `tools`, refused (`refusal`), or `paused` to be asked to go on.
 */
export type EndReason = 'done' | 'stop_sequence' | 'length' | 'context' | 'tools' | 'refusal' | 'paused'

/** Whether an answer with this end may have been cut off within a block: at a limit, or by a refusal. */
export const isCutOff = (reason: EndReason): boolean =>
  reason === 'length' || reason === 'context' || reason === 'refusal'

/**
 * What a block begins with. `isFurther`: it begins a message behind another one of the same answer. `sealed`:
 * reasoning that its vendor alone can read; `id`: what its vendor calls it.
 */
export type BlockStart =
  | { kind: 'text'; isFurther?: true }
  | { kind: 'refusal' }
  | { kind: 'reasoning'; sealed?: string; format?: string; id?: string }
  | { kind: 'tool_call'; id: string; name: string; namespace?: string; isCustom?: true }

/**
 * What an answer consists of, in this order: one `start`; blocks, numbered from 0, each with a `block`, any `delta`s
 * (words, or a call's arguments), at most one `signature` and a `stop` (`isCut`: the end of the answer cut it off); one
 * `end`. Texts and reasoning are never open at the same time; calls of tools may be, with deltas of one between those
 * of another.
 */
export type AnswerEvent =
  | { is: 'start'; id: string; created: number }
  | ({ is: 'block'; block: number } & BlockStart)
  | { is: 'delta'; block: number; text: string }
  | { is: 'signature'; block: number; signature: string }
  | { is: 'stop'; block: number; isCut?: true }
  | { is: 'end'; reason: EndReason; stopSequence?: string }

/** Turns the events of one answer into frames of a dialect: JSON objects, in the order in which they are sent. */
export type AnswerEncoder = { framesOf: (event: AnswerEvent) => Record<string, unknown>[] }
