import { lastUserText } from '../chat/conversation.ts'
import type { Exchange, Route } from '../exchange.ts'
import { answer, steeredFault } from '../http/answer.ts'
import { asText, Refusal } from '../wire.ts'
import { checkHeaders } from './headers.ts'
import { inputTokens } from './cache.ts'
import { checkCounted } from './fields.ts'
import { checkTools } from './tools.ts'
import { checkTurns } from './turns.ts'

/** `POST /v1/messages/count_tokens`, which bills nothing. Of the refusals only `[status]` steers it. */
export const countTokensRoute: Route = {
  method: 'POST',
  path: '/anthropic/v1/messages/count_tokens',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: lastUserText(fields['messages']) }),
  handle: countTokens,
}

async function countTokens(exchange: Exchange): Promise<void> {
  const { req, body, model, steering } = exchange
  checkHeaders(req.headers, body.fields)
  checkCounted(body.fields)
  checkTurns(model, body.fields['messages'])
  checkTools(body.fields)
  if (steering.status) throw new Refusal({ ...steeredFault(steering.status.status), headers: steering.status.headers })
  return answer(exchange, { input_tokens: inputTokens(body.fields) })
}
