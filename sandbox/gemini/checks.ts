import { isSignatureOf } from '../anthropic/signatures.ts'
import type { Exchange } from '../exchange.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { contentsIn, partsIn } from './contents.ts'
import { invalid } from './errors.ts'

const FIELDS = new Set(
  'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent store serviceTier'.split(
    ' ',
  ),
)
const CONFIG = new Set(
  (
    'maxOutputTokens temperature topP topK candidateCount stopSequences seed presencePenalty frequencyPenalty ' +
    'responseMimeType responseSchema responseJsonSchema responseLogprobs logprobs responseModalities imageConfig ' +
    'speechConfig thinkingConfig mediaResolution'
  ).split(' '),
)
const DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
]

/** What stands for a signature that there is none: the API accepts it in the place of any. */
const SKIPPED = 'skip_thought_signature_validator'

/** The text that a signature of a key proves: the API accepts none of another account. */
export const provenBy = ({ req, protocol }: Pick<Exchange, 'req' | 'protocol'>): string =>
  protocol.keyOf?.(req.headers) ?? ''

/** Whether a model signs what it thinks, and wants that back: those since Gemini 3. */
export const isSigning = (model: string): boolean => !/gemini-[12]\b/.test(model)

/** What the API refuses of a request. @throws {Refusal} 400 */
export function checkRequest(exchange: Exchange, request: Fields): void {
  requireKnown(request, FIELDS, '')
  const config = asFields(request['generationConfig'])
  requireKnown(config, CONFIG, 'generation_config.')
  checkContents(exchange, request)
  checkFunctions(request)
  checkConfig(exchange.model, config)
}

function requireKnown(fields: Fields, known: ReadonlySet<string>, at: string): void {
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  if (unknown === undefined) return
  throw invalid(`Invalid JSON payload received. Unknown name "${unknown}" at '${at}': Cannot find field.`)
}

function checkContents(exchange: Exchange, request: Fields): void {
  const contents = contentsIn(request)
  if (contents.length === 0) throw invalid('* GenerateContentRequest.contents: contents is not specified')
  for (const [at, content] of contents.entries()) {
    const { role = 'user' } = content
    if (role !== 'user' && role !== 'model') throw invalid('Please use a valid role: user, model.')
    const parts = partsIn(content)
    if (parts.length === 0)
      throw invalid(`* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`)
    for (const part of parts) checkPart(part, `contents[${at}].parts`)
  }
  checkTurns(contents)
  const begun = contents.findLastIndex(
    (content) => content['role'] !== 'model' && partsIn(content).some(({ text }) => text),
  )
  if (isSigning(exchange.model))
    for (const [at, content] of contents.entries()) checkSignatures(exchange, content, { at, isCurrent: at > begun })
}

function checkPart(part: Fields, at: string): void {
  const data = DATA.filter((name) => part[name] !== undefined)
  if (data.length !== 1)
    throw invalid(`* GenerateContentRequest.${at}[0].data: required oneof field 'data' must have one initialized field`)
  const { mimeType, data: bytes } = asFields(part['inlineData'])
  if (part['inlineData'] !== undefined && (!asText(mimeType) || !asText(bytes)))
    throw invalid(`Unable to process input: ${at} has no data of a known type.`)
}

/** Calls follow a user, and as many results follow them. */
function checkTurns(contents: readonly Fields[]): void {
  for (const [at, content] of contents.entries()) {
    const called = countOf(content, 'functionCall')
    const answered = countOf(content, 'functionResponse')
    const next = contents[at + 1]
    if (called > 0 && contents[at - 1]?.['role'] === 'model')
      throw invalid('Please ensure that a function call turn comes immediately after a user turn.')
    if (called > 0 && next && countOf(next, 'functionResponse') !== called)
      throw invalid('Please ensure that there are as many function response parts as function call parts.')
    if (answered > 0 && countOf(contents[at - 1] ?? {}, 'functionCall') === 0)
      throw invalid('Please ensure that function response turn comes immediately after a function call turn.')
  }
}

const countOf = (content: Fields, name: string): number =>
  partsIn(content).filter((part) => part[name] !== undefined).length

/** The first of the calls that were made at once has a signature, in the current turn; each is one of its account. */
function checkSignatures(
  exchange: Exchange,
  content: Fields,
  { at, isCurrent }: { at: number; isCurrent: boolean },
): void {
  const parts = partsIn(content)
  const first = parts.find(({ functionCall }) => functionCall !== undefined)
  if (isCurrent && first && first['thoughtSignature'] === undefined) {
    const name = asText(asFields(first['functionCall'])['name'])
    throw invalid(`Function call \`${name}\` in the ${at + 1}. content block is missing a \`thought_signature\`.`)
  }
  for (const { thoughtSignature: signature } of parts)
    if (signature !== undefined && signature !== SKIPPED && !isSignatureOf(provenBy(exchange), asText(signature)))
      throw invalid('Thought signature is not valid.')
}

/** The functions that a request declares. */
export const functionsIn = ({ tools }: Fields): Fields[] =>
  (Array.isArray(tools) ? tools.map(asFields) : []).flatMap(({ functionDeclarations: declared }) =>
    Array.isArray(declared) ? declared.map(asFields) : [],
  )

function checkFunctions(request: Fields): void {
  const names = functionsIn(request).map(({ name, parameters, parametersJsonSchema: schema }) => {
    if (!/^[a-zA-Z_][\w.:-]{0,63}$/.test(asText(name))) throw invalid(`Invalid function name: ${asText(name)}.`)
    if (parameters !== undefined && schema !== undefined)
      throw invalid('parameters and parameters_json_schema must not both be set.')
    return asText(name)
  })
  if (new Set(names).size < names.length) throw invalid('Duplicate function declaration found.')
  const { mode, allowedFunctionNames: allowed = [] } = asFields(
    asFields(request['toolConfig'])['functionCallingConfig'],
  )
  const chosen = (allowed as unknown[]).map(asText)
  if (chosen.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED')
    throw invalid('allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.')
  if (chosen.some((name) => !names.includes(name))) throw invalid('allowed_function_names names an unknown function.')
}

function checkConfig(model: string, config: Fields): void {
  const { maxOutputTokens: limit = 1, stopSequences: stops = [], thinkingConfig, candidateCount: count = 1 } = config
  if (!Number.isInteger(limit) || (limit as number) < 1) throw invalid('max_output_tokens must be positive.')
  if ((stops as unknown[]).length > 5) throw invalid('The number of stop sequences must be at most 5.')
  if (count !== 1) throw invalid('Multiple candidates is not enabled for this model.')
  if (config['presencePenalty'] !== undefined || config['frequencyPenalty'] !== undefined)
    throw invalid(`Penalty is not enabled for models/${model}.`)
  const hasSchema = config['responseJsonSchema'] !== undefined || config['responseSchema'] !== undefined
  if (hasSchema && config['responseMimeType'] !== 'application/json')
    throw invalid('response_schema is only supported with response_mime_type application/json.')
  const { thinkingLevel: level, thinkingBudget: budget } = asFields(thinkingConfig)
  if (level !== undefined && budget !== undefined)
    throw invalid('You can only set one of thinking budget and thinking level.')
  if (level !== undefined && !['LOW', 'MEDIUM', 'HIGH'].includes(asText(level).toUpperCase()))
    throw invalid(`Thinking level ${asText(level)} is not supported for this model.`)
}
