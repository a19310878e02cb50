/** Calls that end before an upstream was asked, because nobody wants them any more. */
import { gatewayError } from '../platform/errors.ts'

/**
 * The end of a call that was cancelled, or whose client disconnected, before it was sent to an upstream. It is
 * refunded.
 */
export const CANCELLED_UNSENT = gatewayError(
  'upstream_failed',
  'The call was cancelled before it was sent to an upstream. The credits charged for this call were refunded.',
)
