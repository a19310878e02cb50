import OpenAI, { APIError } from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { refusal as refusalOf } from './errors.ts'
import type { Catalogue, Gateway } from '../../../../scripts/harness/harness.ts'

export type Asked = OpenAI.Responses.ResponseCreateParamsNonStreaming

/** Models whose upstreams speak Responses, Messages, chat completions, and Gemini's API. */
export const MODELS = ['native', 'claude', 'gpt', 'gemini']

/** Adds them; `other` is another model of the native upstream, and those that are `-hasty` have 3 s. */
export function addDialects({ upstreams, models }: Catalogue): void {
  const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
  Object.assign(upstreams, {
    claude: { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') },
    native: { ...sandbox, protocol: 'responses', baseUrl },
    gemini: { ...sandbox, protocol: 'gemini', baseUrl: baseUrl.replace('/v1', '/gemini') },
  })
  const pricing = { input: 1000, output: 3000, perTokens: 1000, minimum: 1 }
  const of = (id: string, upstream: string, more: object = {}) =>
    models.push({ id, modality: 'chat', pricing, upstreams: [{ upstream, model: `sandbox/${id}` }], ...more })
  of('other', 'native')
  for (const id of MODELS) {
    const upstream = id === 'gpt' ? 'sandbox' : id
    of(id, upstream)
    of(`${id}-hasty`, upstream, { timeoutSeconds: 3 })
  }
}

/** OpenAI's own client. */
export const clientOf = ({ url }: Gateway, apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })

/** A request of a short answer. */
export const asked = (model: string, input: Asked['input'], more: Partial<Asked> = {}): Asked => ({
  model,
  max_output_tokens: 500,
  input,
  ...more,
})

/** The events of a stream, and the response that OpenAI's client makes of them. */
export async function streamed(client: OpenAI, request: Asked) {
  const events: ResponseStreamEvent[] = []
  const stream = client.responses.stream(request as never)
  stream.on('event', (event) => events.push(event as ResponseStreamEvent))
  const response = await stream.finalResponse()
  return { events, response, types: events.map(({ type }) => type) }
}

/** How a request is refused. */
export const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)
