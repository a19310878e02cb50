import type { Exchange, Protocol, Route } from '../exchange.ts'
import type { Body } from '../http/body.ts'
import { answer } from '../http/answer.ts'
import { asFields, asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { checkRequest } from './checks.ts'
import { inputTokens, promptIn } from './contents.ts'
import { embedAll, embedOne } from './embeddings.ts'
import { geminiError, invalid } from './errors.ts'
import { generate } from './generate.ts'

const METHODS: Readonly<Record<string, (exchange: Exchange) => Promise<void>>> = {
  generateContent: (exchange) => generate(exchange, false),
  streamGenerateContent: (exchange) => generate(exchange, true),
  countTokens,
  embedContent: embedOne,
  batchEmbedContents: embedAll,
}

/** A model and a method of it, as they are in a path: `gemini-x:generateContent`. */
function calledIn(call = ''): { model: string; method: string } {
  const [model = '', method = ''] = decodeURIComponent(call).split(':')
  return { model, method }
}

/** The request of a count is in a field of it; those of embeddings are in a list. */
const askedIn = ({ fields }: Body): Fields => asFields(fields['generateContentRequest'] ?? fields)

async function countTokens(exchange: Exchange): Promise<void> {
  const { model: _model, ...asked } = askedIn(exchange.body)
  checkRequest(exchange, asked)
  return answer(exchange, { totalTokens: inputTokens(asked) })
}

const modelRoute: Route = {
  method: 'POST',
  path: '/gemini/v1beta/models/:call',
  submission: (body, { call }) => ({ model: calledIn(call).model, prompt: promptIn(askedIn(body)) }),
  handle: (exchange) => {
    const { method } = calledIn(exchange.params['call'])
    const serve = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
    if (!serve) throw new Refusal({ status: 404, message: `The sandbox has no method ${method}.` })
    if ('model' in exchange.body.fields && asText(exchange.body.fields['model']) === '')
      throw invalid('The model must be a text.')
    return serve(exchange)
  },
}

/** Google's Gemini API. */
export const geminiProtocol: Protocol = {
  name: 'gemini',
  keyOf: ({ 'x-goog-api-key': key }) => (typeof key === 'string' && key ? key : undefined),
  envelope: geminiError,
  wrongKey: {
    status: 400,
    message: 'API key not valid. Please pass a valid API key.',
    code: 'API_KEY_INVALID',
  },
  outOfCredit: {
    status: 403,
    message: 'This API method requires billing to be enabled. Please enable billing on the project.',
    code: 'BILLING_DISABLED',
  },
  routes: [
    { method: 'GET', path: '/gemini/v1beta/models', handle: (exchange) => answer(exchange, { models: [] }) },
    modelRoute,
  ],
}
