/** What a call is priced by where that is not its tokens, as its row has it for its receipt. */
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import type { CallRequest, MediaRequest } from '../../../shared/requests/requests.ts'
import type { RerankRequest } from '../../../shared/requests/rerank.ts'
import { searchesOf } from '../../../shared/requests/rerank.ts'
import type { SpeechRequest } from '../../../shared/requests/speech.ts'
import { chargedCharacters } from '../../../shared/requests/speech.ts'
import type { TranscriptionRequest } from '../../../shared/requests/transcriptions.ts'
import type { Measured } from '../../../shared/terms/pricing.ts'

/** The measures of a validated request; undefined if it is priced by tokens, or as a call. */
export function measuredOf(model: Model, request: CallRequest): Measured | undefined {
  switch (model.modality) {
    case 'image':
    case 'video':
      return request as MediaRequest
    case 'speech':
      return { units: chargedCharacters(request as SpeechRequest) }
    case 'rerank':
      return { units: searchesOf(request as RerankRequest, model.documentTokens) }
    case 'transcription':
      return { duration: (request as TranscriptionRequest).seconds }
    case 'chat':
    case 'embedding':
    case 'moderation':
      return undefined
  }
}
