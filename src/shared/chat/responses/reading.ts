/**
 * What of a request of the Responses API decides how its answer is read.
 */
import { asFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { TOKEN_BYTES } from '../answer-form.ts'

/** Whether a request asks for reasoning, by an effort. */
export const responseAsksForReasoning = ({ reasoning }: Fields): boolean =>
  (asFields(reasoning).effort ?? 'none') !== 'none'

/** The most bytes of JSON that the answer to a request may take. */
export const mostResponseBytes = ({ max_tokens: most }: ChatRequest): number => most * TOKEN_BYTES
