/**
 * What of a request of the Messages API decides how its answer is read.
 */
import { asFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { TOKEN_BYTES } from '../answer-form.ts'

/** Whether a request asks for reasoning: by thinking, or by an effort, with which newer models think unasked. */
export const messageAsksForReasoning = ({ thinking, output_config: config }: Fields): boolean =>
  (asFields(thinking).type ?? 'disabled') !== 'disabled' || (asFields(config).effort ?? null) !== null

/** The most bytes of JSON that the answer to a request may take. */
export const mostMessageBytes = ({ max_tokens: most }: ChatRequest): number => most * TOKEN_BYTES
