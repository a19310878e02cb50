import { asFields } from '../../platform/fields.ts'
import { TOKEN_BYTES } from '../answer-form.ts'
import type { DialectDefinition } from '../definition.ts'
import { addressesIn } from '../parts.ts'
import { responsesForm } from './answer.ts'
import { refusal } from './check.ts'
import { responsesErrors } from './errors.ts'
import { fixedTokens } from './estimate.ts'
import { FIELDS, MODE } from './fields.ts'
import { partsOf, withPictures } from './parts.ts'
import { canonicalResponses } from './read-request.ts'
import { ResponseEncoder } from './write-frames.ts'

/** OpenAI's Responses API. */
export const responses: DialectDefinition = {
  canonical: canonicalResponses,
  needsAllow: (request) => [
    // A request has its limit under the name of all dialects, and no messages.
    ...Object.keys(request).filter((name) => !FIELDS.free.has(name) && name !== 'messages' && name !== 'max_tokens'),
    ...((asFields(request.reasoning).mode ?? 'default') === 'default' ? [] : [MODE]),
  ],
  refusal: (path, fault) => refusal(path, `${fault}.`),
  encoder: ({ request, callId, seal }) => new ResponseEncoder(request, callId, seal),
  answers: responsesForm,
  errors: responsesErrors,
  limitField: 'max_output_tokens',
  asksForReasoning: ({ reasoning }) => (asFields(reasoning).effort ?? 'none') !== 'none',
  mostBytes: ({ max_tokens: most }) => most * TOKEN_BYTES,
  reportsFailures: true,
  fixedTokens,
  addresses: (request) => addressesIn(partsOf(request)),
  withPictures,
}
