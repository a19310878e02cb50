/** What the upstream of a call can have used, by its request: a chat's, or that of embeddings. */
import type { BegunCall } from '../../shared/calls/types.ts'
import type { Model } from '../../shared/catalogue/catalogue.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import type { CallJob } from '../../shared/queues.ts'
import { mostTokens } from '../../shared/requests/embeddings.ts'
import type { EmbeddingRequest } from '../../shared/requests/embeddings.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import { mostInput } from '../../shared/terms/pricing.ts'
import type { UsageBounds } from '../upstreams/trusted-usage.ts'

/** The bounds of a call's usage at the upstreams of a model. */
export function boundsOf(
  { estimate }: Pick<BegunCall, 'estimate'>,
  model: Model | null,
  { request, dialect }: Pick<CallJob, 'request' | 'dialect'>,
): UsageBounds {
  if (model?.modality === 'embedding' && request)
    return { estimate, mostInput: mostTokens((request as EmbeddingRequest).input) }
  if (model?.modality !== 'chat' || !request) return { estimate, mostInput: 0 }
  const fixed = dialectOf(dialect).fixedTokens(request as ChatRequest, model)
  return { estimate, mostInput: mostInput(estimate.input, fixed, model) }
}
