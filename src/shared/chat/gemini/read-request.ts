/** From a request of Gemini's API to its canonical form. */
import { asFields, isFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Format, Reasoning, Tool, ToolChoice, Turn } from '../canonical.ts'
import { CALL_SIGNATURE, proofOf, samplingOf } from '../canonical.ts'
import { fileBlocks } from '../documents.ts'
import type { Open } from '../seal.ts'
import { hostedIn } from './fields.ts'
import { functionsOf, isPicture, mimeTypeOf } from './parts.ts'
import { jsonSchemaOf } from './schemas.ts'

/** The topK of Google's models where none is asked for: Gemini CLI sends it, and others are not asked for it. */
const USUAL_TOP_K = 64

/** A valid request in its canonical form. @param open opens what was sealed for the route that is asked */
export function canonicalGemini(request: ChatRequest, open: Open): CanonicalChat {
  const { contents, systemInstruction, toolConfig, generationConfig, max_tokens: maxTokens } = request
  const config = asFields(generationConfig)
  const choice = asFields(asFields(toolConfig).functionCallingConfig)
  const toolChoice = toolChoiceOf(choice)
  const { stopSequences: stops, temperature, topP, topK } = config
  const read = new Reader(open, detailOf(config.mediaResolution))
  const said = read.blocksOf(asFields(systemInstruction).parts, 'systemInstruction.parts')
  return {
    turns: [
      ...(said.length > 0 ? [{ role: 'system' as const, blocks: said }] : []),
      ...listOf(contents).map((content, at) => read.turnOf(content, `contents.${at}.parts`)),
    ],
    maxTokens,
    choices: 1,
    tools: allowedTools(functionsOf(request).map(toolOf), choice),
    ...(toolChoice !== undefined && { toolChoice }),
    stop: Array.isArray(stops) ? stops.filter(isText) : [],
    sampling: samplingOf({ temperature, top_p: topP, top_k: topK === USUAL_TOP_K ? undefined : topK }),
    ...formatOf(config),
    ...effortOf(asFields(config.thinkingConfig)),
    further: furtherOf(request, config),
  }
}

/** The fields that others call otherwise; and those that have no other name, under their own. */
function furtherOf(request: ChatRequest, config: Fields): Fields {
  const { seed, presencePenalty, frequencyPenalty, responseLogprobs, responseMimeType: type } = config
  const { responseModalities: wanted, imageConfig, speechConfig } = config
  const { cachedContent, serviceTier } = request as Fields
  const isMore = Array.isArray(wanted) && wanted.some((one) => String(one).toUpperCase() !== 'TEXT')
  return present({
    seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    'generationConfig.responseLogprobs': responseLogprobs === true ? true : undefined,
    'generationConfig.responseMimeType': type === 'text/x.enum' ? type : undefined,
    'generationConfig.responseModalities': isMore ? wanted : undefined,
    'generationConfig.imageConfig': imageConfig,
    'generationConfig.speechConfig': speechConfig,
    cachedContent,
    serviceTier,
    ...Object.fromEntries(hostedIn(request.tools).map((name) => [name, true])),
  })
}

const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null))

/** A call that has no result yet. */
type Waiting = { id: string; name: string }

/** Reads contents and their parts. `at`: the path of a list of parts, or of one of them. */
class Reader {
  private readonly open: Open
  private readonly detail: string | undefined
  private readonly waiting: Waiting[] = []

  constructor(open: Open, detail: string | undefined) {
    this.open = open
    this.detail = detail
  }

  turnOf({ role, parts }: Fields, at: string): Turn {
    return { role: role === 'model' ? 'assistant' : 'user', blocks: this.blocksOf(parts, at) }
  }

  /** The blocks of parts. A thought that comes back with its proof is read from that, and not a second time. */
  blocksOf(parts: unknown, at: string): Block[] {
    const blocks = listOf(parts).flatMap((part, index) => this.blockOf(part, `${at}.${index}`))
    const isProved = blocks.some((block) => block.kind === 'reasoning' && isThought(block) && hasProof(block))
    return isProved ? blocks.filter((block) => block.kind !== 'reasoning' || hasProof(block)) : blocks
  }

  private blockOf(part: Fields, at: string): Block[] {
    const { text, thought, functionCall: call, functionResponse: result, thoughtSignature: signature } = part
    if (thought === true) return isText(text) ? [{ kind: 'reasoning', text }] : []
    if (call) return this.callOf(asFields(call), signature, at)
    if (result) return [this.resultOf(asFields(result), at)]
    const proofs = this.proofsIn(signature)
    if (isText(text)) return [...proofs, { kind: 'text', text }]
    return [...proofs, ...this.fileOf(part, at), ...codeOf(part)]
  }

  private callOf({ id: given, name, args }: Fields, signature: unknown, at: string): Block[] {
    const id = isText(given) ? given : `call${at.replaceAll(/\D+/g, '_')}`
    this.waiting.push({ id, name: String(name) })
    // What Gemini wants back with a call belongs to it, whichever id its client gives it.
    const proofs = this.proofsIn(signature).map((one) => (one.format === CALL_SIGNATURE ? { ...one, id } : one))
    return [...proofs, { kind: 'tool_call', id, name: String(name), args: JSON.stringify(args ?? {}), at }]
  }

  /** A result: of the call with its id, or else of the first call of its name that has none yet. */
  private resultOf({ id, name, response, parts }: Fields, at: string): Block {
    const byId = this.waiting.findIndex((one) => one.id === id)
    const found = byId >= 0 ? byId : this.waiting.findIndex((one) => one.name === name)
    const [call] = found >= 0 ? this.waiting.splice(found, 1) : []
    const { words, isError } = wordsOf(asFields(response))
    const files = listOf(parts).flatMap((part, index) => this.fileOf(part, `${at}.functionResponse.parts.${index}`))
    return {
      kind: 'tool_result',
      callId: call?.id ?? (isText(id) ? id : String(name)),
      blocks: [...(words === '' ? [] : [{ kind: 'text' as const, text: words }]), ...files],
      ...(isError && { isError: true as const }),
      at,
    }
  }

  private proofsIn(signature: unknown): Reasoning[] {
    const opened = isText(signature) ? this.open(signature) : null
    return listOf(opened?.proofs).map((proof) => ({
      kind: 'reasoning',
      text: isText(proof.text) ? proof.text : '',
      ...proofOf(proof),
    }))
  }

  private fileOf({ inlineData, fileData, mediaResolution }: Fields, at: string): Block[] {
    const detail = detailOf(asFields(mediaResolution).level) ?? this.detail
    const [field, file] = inlineData ? ['inlineData', asFields(inlineData)] : ['fileData', asFields(fileData)]
    const type = mimeTypeOf(file)
    const url = isText(file.fileUri) ? file.fileUri : undefined
    const data = isText(file.data) ? `data:${type};base64,${file.data}` : undefined
    if (url === undefined && data === undefined) return []
    if (isPicture(type)) return [{ kind: 'image', url: url ?? data!, ...(detail !== undefined && { detail }) }]
    const name = isText(file.displayName) ? file.displayName : undefined
    return fileBlocks({ at: `${at}.${field}`, ...(url === undefined ? { data } : { url }), name })
  }
}

const isThought = ({ format }: Reasoning): boolean => format !== CALL_SIGNATURE
const hasProof = ({ signature, sealed }: Reasoning): boolean => (signature ?? sealed) !== undefined

/** Code that an upstream has run before, and what that printed: as the words that they are. */
function codeOf({ executableCode: code, codeExecutionResult: result }: Fields): Block[] {
  const text = code ? `\`\`\`\n${String(asFields(code).code)}\n\`\`\`` : asFields(result).output
  return isText(text) ? [{ kind: 'text', text }] : []
}

/** What a function answered: its `output` or `error` alone, as Google's SDK writes them, or all of it as JSON. */
function wordsOf(response: Fields): { words: string; isError: boolean } {
  const [[name, value] = [], ...others] = Object.entries(response)
  const isAlone = others.length === 0 && isText(value)
  const isError = others.length === 0 && name === 'error'
  if (isAlone && (name === 'output' || name === 'error')) return { words: value, isError }
  return { words: name === undefined ? '' : JSON.stringify(response), isError }
}

const DETAILS: Readonly<Record<string, string>> = { LOW: 'low', MEDIUM: 'auto', HIGH: 'high', ULTRA_HIGH: 'high' }

/** How closely a picture is to be viewed, in the words of OpenAI. */
const detailOf = (resolution: unknown): string | undefined =>
  isText(resolution) ? DETAILS[resolution.replace(/^MEDIA_RESOLUTION_/i, '').toUpperCase()] : undefined

/** A function. Its schema is one of the API's own form, or a JSON schema. */
function toolOf({ name, description, parameters, parametersJsonSchema: schema }: Fields): Tool {
  return {
    kind: 'function',
    name: String(name),
    ...(isText(description) && { description }),
    schema: isFields(schema) ? schema : isFields(parameters) ? jsonSchemaOf(parameters) : { type: 'object' },
  }
}

const namesIn = ({ allowedFunctionNames: names }: Fields): string[] =>
  Array.isArray(names) ? names.filter(isText) : []

/** The tools that may be called: where several are named, no others are offered. */
function allowedTools(tools: Tool[], choice: Fields): Tool[] {
  const names = namesIn(choice)
  return names.length === 0 || typeof toolChoiceOf(choice) === 'object'
    ? tools
    : tools.filter(({ name }) => names.includes(name))
}

const CHOICES: Readonly<Record<string, ToolChoice>> = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'required', NONE: 'none' }

function toolChoiceOf(choice: Fields): ToolChoice | undefined {
  const mode = isText(choice.mode) ? choice.mode.toUpperCase() : ''
  const [name, ...others] = namesIn(choice)
  return mode === 'ANY' && name !== undefined && others.length === 0 ? { tool: name } : CHOICES[mode]
}

/** The JSON schema that an answer is to follow; undefined where it asks for none. */
export function schemaOfAnswer({ responseSchema: own, responseJsonSchema: schema }: Fields): Fields | undefined {
  if (isFields(schema)) return schema
  return isFields(own) ? jsonSchemaOf(own) : undefined
}

function formatOf(config: Fields): { format?: Format } {
  const schema = schemaOfAnswer(config)
  if (schema) {
    const field = isFields(config.responseJsonSchema) ? 'responseJsonSchema' : 'responseSchema'
    return { format: { schema, at: `generationConfig.${field}` } }
  }
  if (config.responseMimeType !== 'application/json') return {}
  return { format: { schema: null, at: 'generationConfig.responseMimeType' } }
}

/** The budgets of thinking that are as much as an effort, in tokens. */
const BUDGETS = { low: 1024, medium: 8192 } as const

/** How much the model is to think: by a level, or by a budget in tokens. A budget of -1 leaves it to the model. */
function effortOf({ thinkingLevel: level, thinkingBudget: budget }: Fields): Pick<CanonicalChat, 'effort'> {
  if (isText(level) && !/UNSPECIFIED$/i.test(level)) return { effort: level.toLowerCase() }
  if (typeof budget !== 'number' || budget < 0) return {}
  if (budget === 0) return { effort: 'none' }
  return { effort: budget <= BUDGETS.low ? 'low' : budget <= BUDGETS.medium ? 'medium' : 'high' }
}
