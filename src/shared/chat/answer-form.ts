/** The answers of one dialect, and the frames of its streams: JSON objects. */
import type { Fields } from '../platform/fields.ts'
import type { Tokens } from '../terms/pricing.ts'
import type { Assembly, CutOff } from './assembly.ts'

/** Bytes that a token of an answer may take as JSON. */
export const TOKEN_BYTES = 8

/** Whether an answer has ended, in all its choices. */
export type Completion = {
  take(frame: Fields): void
  readonly isWhole: boolean
  /** The frames that end what the upstream did not end; none where it did. */
  lastFrames(cutOff: CutOff): Fields[]
}

/**
 * Makes of the events of an upstream those that the dialect's own API would have sent: in its order, with everything
 * that its clients rely on, each word once. An event of which nothing has to change is returned itself.
 */
export type Completer = {
  /** @param isWhole whether the object is the whole answer */
  take(event: Fields, isWhole: boolean): Fields[]
  /** The events that end an answer whose upstream has only ended its stream. */
  end(): Fields[]
}

/** How a dialect reads, joins, completes, writes and stores its frames and answers. */
export type AnswerForm = {
  /** @param maxBytes how long the answer may become, as JSON in UTF-8 */
  assemble(maxBytes: number): Assembly
  completion(): Completion
  /** Whether a frame begins an answer, or ends one: until then another upstream may be asked. */
  begins(frame: Fields): boolean
  /** Whether there is reasoning in a frame. */
  reasons(frame: Fields): boolean
  /**
   * A frame as one line of JSON for its client, under the gateway's own id of the model. Of a dialect whose frames have
   * a `type`, that comes first.
   * @param line the frame as its upstream wrote it, where nothing of it was changed
   */
  written(frame: Fields, model: string, line?: string): string
  /** Our own count of the words of an answer, in tokens. */
  count(answer: Fields): number
  /** The stored output of an answer: JSON text whose last member is a `usage` that is not empty. */
  output(answer: Fields, model: string, tokens: Tokens): string
}

const TYPE = /^\{\s*"type"\s*:\s*"([\w.]+)"/

/** The `type` that an object on a line of JSON begins with; null where something else comes first. */
export const typeOfLine = (line: string): string | null => TYPE.exec(line)?.[1] ?? null
