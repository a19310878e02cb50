import { asFields } from '../../platform/fields.ts'
import { TOKEN_BYTES } from '../answer-form.ts'
import type { DialectDefinition } from '../definition.ts'
import { addressesIn } from '../parts.ts'
import { geminiForm } from './answer.ts'
import { refusal } from './check.ts'
import { geminiErrors } from './errors.ts'
import { fixedTokens } from './estimate.ts'
import { FIELDS, dearerIn } from './fields.ts'
import { partsOf, withPictures } from './parts.ts'
import { canonicalGemini } from './read-request.ts'
import { GeminiEncoder } from './write-frames.ts'

/** Google's Gemini API. */
export const gemini: DialectDefinition = {
  canonical: canonicalGemini,
  needsAllow: (request) => [
    // A request has its limit under the name of all dialects, and no messages.
    ...Object.keys(request).filter((name) => !FIELDS.free.has(name) && name !== 'messages' && name !== 'max_tokens'),
    ...dearerIn(request),
  ],
  refusal: (path, fault) => refusal(path, `${fault}.`),
  encoder: ({ callId, seal }) => new GeminiEncoder(callId, seal),
  answers: geminiForm,
  errors: geminiErrors,
  limitField: 'max_output_tokens',
  asksForReasoning: ({ generationConfig }) => {
    const { thinkingLevel: level, thinkingBudget: budget } = asFields(asFields(generationConfig).thinkingConfig)
    return (level ?? null) !== null || ((budget ?? null) !== null && budget !== 0)
  },
  mostBytes: ({ max_tokens: most }) => most * TOKEN_BYTES,
  reportsFailures: true,
  fixedTokens,
  addresses: (request) => addressesIn(partsOf(request)),
  withPictures,
}
