/**
 * A chat for an upstream of another dialect: in its canonical form, with tools that every upstream knows, and its
 * answer on the way back.
 */
import type { CanonicalChat } from '../../shared/chat/canonical.ts'
import { grammarOf } from '../../shared/chat/dialect.ts'
import { NO_SEAL } from '../../shared/chat/seal.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { UpstreamContext } from './adapter.ts'
import { withPlainTools } from './plain-tools.ts'
import type { Decoder, Translation } from './translation.ts'
import { encoded } from './translation.ts'

/** The chat that is asked, and what makes frames of its client's dialect of what the upstream's decoder reads. */
export function canonicalFor(
  request: ChatRequest,
  { dialect, callId, estimatedInput = 0, seal: { seal, open } = NO_SEAL }: UpstreamContext,
): { chat: CanonicalChat; translated: (decoder: Decoder) => Translation } {
  const grammar = grammarOf(dialect)
  const { chat, restoring } = withPlainTools(grammar.canonical(request, open))
  const encoder = grammar.encoder({ request, inputTokens: estimatedInput, callId, seal })
  return { chat, translated: (decoder) => encoded(restoring(decoder), encoder) }
}
