import { signatureOf } from '../anthropic/signatures.ts'
import { composeAnswer, piecesOf, reportedTokens } from '../chat/answer.ts'
import type { ChatAnswer, TokenCounts } from '../chat/answer.ts'
import { isStreamed } from '../chat/quirks.ts'
import type { Exchange } from '../exchange.ts'
import { admit, answer as send } from '../http/answer.ts'
import { event, stream } from '../http/stream.ts'
import type { StreamEvent } from '../http/stream.ts'
import { pixelSize } from '../media/size.ts'
import { inlineImage } from '../openai/images.ts'
import type { Steering } from '../steering.ts'
import { worded } from '../steering.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { checkRequest, functionsIn, isSigning, provenBy } from './checks.ts'
import { hasResult, inputTokens } from './contents.ts'

const FINISH = { stop: 'STOP', length: 'MAX_TOKENS', tool: 'STOP', refusal: 'SAFETY' } as const
const THOUGHT = 'The user has written to the sandbox. It answers from its list, as calmly as always.'
const TOKENS_PER_PICTURE = 1120

/** An answer that is being sent: the pieces of its parts as they are streamed, and how it ends. */
interface Reply {
  readonly exchange: Exchange
  readonly head: Fields
  readonly parts: readonly (readonly Fields[])[]
  readonly end: Fields
  readonly usage: Fields | undefined
}

/** `generateContent` and `streamGenerateContent`, of texts, calls of functions, and pictures. */
export async function generate(exchange: Exchange, asksForStream: boolean): Promise<void> {
  const { body, model, steering, state, query } = exchange
  const { fields } = body
  checkRequest(exchange, fields)
  const config = asFields(fields['generationConfig'])
  await admit(exchange, 'inline')
  const modalities = [config['responseModalities'] ?? []].flat()
  const made = modalities.includes('IMAGE') ? await picturesOf(exchange, config) : wordsOf(exchange, config)
  const tokens = steering.empty ? undefined : reportedTokens(steering, { ...made.tokens, input: inputTokens(fields) })
  const reply: Reply = {
    ...made,
    exchange,
    head: { modelVersion: model, responseId: state.ids.next('response') },
    usage: tokens && usageOf(tokens, steering.usage ? 0 : made.tokens.reasoning),
  }
  if (!isStreamed(asksForStream, steering.quirk)) return send(exchange, wholeOf(reply))
  // Without `alt=sse` a stream is a list.
  if (query.get('alt') !== 'sse')
    return send(
      exchange,
      [...objectsOf(reply)].map(({ object }) => object),
    )
  const message = worded(exchange, 'The model is overloaded. Please try again later.')
  const failure = exchange.protocol.envelope({ status: 503, message }).body
  return stream(exchange, eventsOf(reply), event(failure))
}

type Made = Pick<Reply, 'parts' | 'end'> & { readonly tokens: Omit<TokenCounts, 'input'> }

/** Texts and calls. A model that signs does so in the first call, or behind the text. */
function wordsOf(exchange: Exchange, config: Fields): Made {
  const { steering, body, prompt, state, model } = exchange
  const { fields } = body
  const answer = composeAnswer({
    prompt,
    steering: calling(steering, asFields(asFields(fields['toolConfig'])['functionCallingConfig'])),
    maxTokens: Number(config['maxOutputTokens'] ?? Infinity),
    tools: functionsIn(fields).map(({ name, parametersJsonSchema: schema, parameters }) => ({
      name: asText(name),
      schema: schema ?? parameters,
    })),
    schema: schemaOf(config),
    stops: [config['stopSequences'] ?? []].flat().map(asText),
    hasResult: hasResult(fields),
  })
  const { text, toolCalls } = answer
  const isSigned = isSigning(model) && answer.finish !== 'refusal'
  const signed = (): Fields => (isSigned ? { thoughtSignature: signatureOf(provenBy(exchange)) } : {})
  const thought = thoughtOf(exchange, config)
  const calls = toolCalls.map(({ name, arguments: args }, at) => [
    {
      functionCall: { id: state.ids.next('call'), name, args: JSON.parse(args) as unknown },
      ...(at === 0 && signed()),
    },
  ])
  const behind = calls.length === 0 && isSigned && text !== '' ? [[{ text: '', ...signed() }]] : []
  const shown = thought === undefined ? [] : [[{ text: thought, thought: true }]]
  const reasoning = thought === undefined ? undefined : Math.ceil(thought.length / 4)
  return {
    parts: [...shown, ...textOf(answer, steering), ...behind, ...calls],
    end: { finishReason: FINISH[answer.finish] },
    tokens: { output: answer.outputTokens, ...(reasoning !== undefined && { reasoning }) },
  }
}

/** A refusal has no words of its own. */
const textOf = (answer: ChatAnswer, steering: Steering): Fields[][] =>
  answer.text === '' || answer.finish === 'refusal'
    ? []
    : [Array.from(piecesOf(answer, steering), (text) => ({ text }))]

/** What it thinks, where that is asked for by the request, or by the prompt. */
function thoughtOf({ steering }: Exchange, config: Fields): string | undefined {
  const { includeThoughts: isAsked } = asFields(config['thinkingConfig'])
  return steering.thoughts ?? (isAsked === true ? THOUGHT : undefined)
}

function schemaOf({ responseMimeType: type, responseJsonSchema: schema, responseSchema: own }: Fields): unknown {
  if (type !== 'application/json') return undefined
  return schema ?? own ?? { type: 'object', properties: { answer: { type: 'string' } } }
}

/** The steering, with the calls that the request forces or forbids. */
function calling(steering: Steering, { mode, allowedFunctionNames: allowed }: Fields): Steering {
  const { tool, tools, ...rest } = steering
  if (mode === 'NONE') return rest
  const [name] = [allowed ?? []].flat().map(asText)
  return mode === 'ANY' && tools === undefined ? { ...rest, tool: name ?? tool ?? '' } : steering
}

/** Pictures: one, or as many as the steering asks for. */
async function picturesOf({ steering, prompt }: Exchange, config: Fields): Promise<Made> {
  const { imageSize: size, aspectRatio: aspect_ratio = '' } = asFields(config['imageConfig'])
  if (steering.refusal) return { parts: [], end: { finishReason: 'IMAGE_SAFETY' }, tokens: { output: 0 } }
  const area = pixelSize({ resolution: size ?? '1K', aspect_ratio })
  const count = steering.empty ? 0 : (steering.pictures ?? 1)
  const parts = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const data = await inlineImage({ kind: 'image', size: area, seed: `${prompt}${at || ''}`, steering })
      return [{ inlineData: { mimeType: 'image/png', data } }]
    }),
  )
  return { parts, end: { finishReason: 'STOP' }, tokens: { output: TOKENS_PER_PICTURE * count } }
}

/** Thoughts are counted besides the candidates. */
function usageOf({ input, output, reasoning }: TokenCounts, thought = 0): Fields {
  const thoughts = (reasoning ?? 0) + thought
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: input + output + thoughts,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  }
}

/** The texts of one part, together. */
const whole = (pieces: readonly Fields[]): Fields =>
  pieces.length === 1 ? pieces[0]! : { ...pieces[0], text: pieces.map(({ text }) => asText(text)).join('') }

function wholeOf({ exchange, head, parts, end, usage }: Reply): Fields {
  if (exchange.steering.empty) return head
  const content = { parts: parts.map(whole), role: 'model' }
  return { candidates: [{ content, ...end, index: 0 }], ...(usage && { usageMetadata: usage }), ...head }
}

/** The objects of a stream. Each has the usage so far, and the last one the reason to end. */
function* objectsOf({ exchange, head, parts, end, usage }: Reply): Generator<{ object: Fields; content: boolean }> {
  if (exchange.steering.empty) {
    yield { object: head, content: false }
    return
  }
  const { promptTokenCount: input, ...counts } = usage ?? {}
  const begun = usage && { usageMetadata: { promptTokenCount: input, totalTokenCount: input } }
  const object = (part: Fields[], more: Fields): Fields => ({
    candidates: [{ content: { parts: part, role: 'model' }, ...more, index: 0 }],
    ...head,
  })
  for (const part of parts.flat()) yield { object: { ...object([part], {}), ...begun }, content: !part['thought'] }
  const last = usage && { usageMetadata: { promptTokenCount: input, ...counts } }
  yield { object: { ...object([{ text: '' }], end), ...last }, content: false }
}

function* eventsOf(reply: Reply): Generator<StreamEvent> {
  for (const { object, content } of objectsOf(reply)) yield { text: event(object), content }
}
