import { asFields } from '../../platform/fields.ts'
import { TOKEN_BYTES } from '../answer-form.ts'
import type { DialectDefinition } from '../definition.ts'
import { addressesIn } from '../parts.ts'
import { messagesForm } from './answer.ts'
import { LONG_CACHES, longCacheIn } from './cache-marks.ts'
import { refusal } from './check.ts'
import { messagesErrors } from './errors.ts'
import { fixedTokens } from './estimate.ts'
import { FIELDS } from './fields.ts'
import { partsOf, withPictures } from './parts.ts'
import { canonicalMessages } from './read-request.ts'
import { MessageEncoder } from './write-frames.ts'

/** Anthropic's Messages API. */
export const messages: DialectDefinition = {
  canonical: canonicalMessages,
  needsAllow: (request) => [
    ...Object.keys(request).filter((name) => !FIELDS.free.has(name)),
    ...(longCacheIn(request) === null ? [] : [LONG_CACHES]),
  ],
  refusal,
  encoder: ({ inputTokens, seal }) => new MessageEncoder(inputTokens, seal),
  answers: messagesForm,
  errors: messagesErrors,
  limitField: 'max_tokens',
  // By thinking, or by an effort, with which newer models think unasked.
  asksForReasoning: ({ thinking, output_config: config }) =>
    (asFields(thinking).type ?? 'disabled') !== 'disabled' || (asFields(config).effort ?? null) !== null,
  mostBytes: ({ max_tokens: most }) => most * TOKEN_BYTES,
  reportsFailures: true,
  fixedTokens,
  addresses: (request) => addressesIn(partsOf(request)),
  withPictures: (request, change) => withPictures(request, (url) => String(change(url))),
}
