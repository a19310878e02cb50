/**
 * What an upstream bills of a request that it was sent, and what of it would be billed apart. Of a chat as much as
 * possible: a token for every four bytes, a number for every picture, and all the output that was allowed. Of a message
 * and a response the words by the rule of the pre-charge, and a number for each picture, document, turn, tool and call.
 */
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { IMAGE_BYTES } from './random-texts.ts'

type Fields = Record<string, unknown>

/**
 * Bytes that the gateway itself adds to a request: the upstream's name of the model, the limit of the output, the
 * option for a stream's usage, and the longer words of the other protocol. They are not billed here.
 */
const OWN_BYTES = 160

/** The tokens of an image, whose bytes do not count as text. */
const IMAGE_TOKENS = 1500

const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'image', 'input_image'])

/**
 * The images of a request, in the places of either protocol: parts of messages and of tool results.
 */
function imagesOf(body: Fields): Fields[] {
  const turns = body.messages ?? (Array.isArray(body.input) ? body.input : [])
  const parts = (turns as Fields[]).flatMap(({ content }) => (Array.isArray(content) ? (content as Fields[]) : []))
  const results = parts.flatMap(({ type, content }) =>
    type === 'tool_result' && Array.isArray(content) ? (content as Fields[]) : [],
  )
  const system = Array.isArray(body.system) ? (body.system as Fields[]) : []
  return [...parts, ...results, ...system].filter(({ type }) => IMAGES.has(type))
}

/**
 * The bytes of a picture that stands in its part, for which its own tokens are billed: those of its `data:` URI. The
 * part counts as text as it is in OpenAI's protocol: the other one says the same in more words.
 */
function pictureBytes(part: Fields): number {
  const written = JSON.stringify(part)
  if (!written.includes(IMAGE_BYTES)) return 0
  const { source, image_url: image, ...rest } = part
  const without = source || typeof image === 'object' ? { ...(image as Fields | undefined), url: '' } : ''
  const words = JSON.stringify({ ...rest, type: 'image_url', image_url: without })
  return Buffer.byteLength(written) - Buffer.byteLength(words)
}

/** The most that is billed of a chat. */
export function billOf(sent: Fields): Tokens {
  const images = imagesOf(sent)
  const pictures = images.reduce((sum, image) => sum + pictureBytes(image), 0)
  const bytes = Buffer.byteLength(JSON.stringify(sent)) - pictures - OWN_BYTES
  const limit = Number(sent.max_tokens ?? sent.max_completion_tokens)
  const input = Math.ceil(Math.max(0, bytes) / 4) + images.length * IMAGE_TOKENS
  return { input, output: limit * Number(sent.n ?? 1) }
}

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

/** The bytes of values as the pre-charge counts them: as JSON. */
const bytesOf = (...values: unknown[]): number =>
  values.reduce<number>(
    (sum, value) => sum + (value === undefined || value === null ? 0 : Buffer.byteLength(JSON.stringify(value)) - 2),
    0,
  )

/** Bytes of words, and tokens of what has a number of its own. */
type Bill = { bytes: number; tokens: number }

const sumOf = (bills: readonly Bill[]): Bill => ({
  bytes: bills.reduce((sum, { bytes }) => sum + bytes, 0),
  tokens: bills.reduce((sum, { tokens }) => sum + tokens, 0),
})

const IMAGE: Bill = { bytes: 0, tokens: IMAGE_TOKENS }
/** The tokens of a document of a model that prices documents. */
export const DOCUMENT_TOKENS = 2000

/** A document by its bytes, or by its number where its model prices it. */
const ofFile = (data: unknown, isPriced: boolean): Bill =>
  isPriced ? { bytes: 0, tokens: DOCUMENT_TOKENS } : { bytes: bytesOf(data), tokens: 0 }
const TURN: Bill = { bytes: 0, tokens: 4 }
const TOOL: Bill = { bytes: 0, tokens: 8 }

function ofBlock(block: Fields, isPriced: boolean): Bill {
  const { type, source, title, context } = block
  switch (type) {
    case 'text':
      return { bytes: bytesOf(block.text), tokens: 0 }
    case 'image':
    case 'image_url':
      return IMAGE
    case 'file':
      return ofFile(fieldsOf(block.file).file_data, isPriced)
    case 'document': {
      const { type: kind, data, content } = fieldsOf(source)
      const titles = { bytes: bytesOf(title, context), tokens: 0 }
      if (kind === 'text') return sumOf([titles, { bytes: bytesOf(data), tokens: 0 }])
      return sumOf([titles, kind === 'content' ? ofContent(content, isPriced) : ofFile(data, isPriced)])
    }
    case 'search_result':
      return sumOf([{ bytes: bytesOf(source, title), tokens: 0 }, ofContent(block.content, isPriced)])
    case 'tool_result':
      return sumOf([{ bytes: bytesOf(block.tool_use_id), tokens: 0 }, ofContent(block.content, isPriced)])
    case 'tool_use':
      return sumOf([TOOL, { bytes: bytesOf(block.id, block.name, block.input), tokens: 0 }])
    default:
      return { bytes: bytesOf(block), tokens: 0 }
  }
}

const ofContent = (content: unknown, isPriced: boolean): Bill =>
  Array.isArray(content)
    ? sumOf(listOf(content).map((block) => ofBlock(block, isPriced)))
    : { bytes: bytesOf(content), tokens: 0 }

/** Arguments are text of JSON: the model reads them without the escapes around them. */
const ofCall = ({ id, function: called }: Fields): Bill => {
  const { name, arguments: args } = fieldsOf(called)
  return sumOf([TOOL, { bytes: bytesOf(id, name) + Buffer.byteLength(String(args)), tokens: 0 }])
}

const ofMessage = (message: Fields, isPriced: boolean): Bill => {
  const { content, tool_calls: calls, tool_call_id: id, reasoning_content: thoughts, output_config: config } = message
  return sumOf([
    TURN,
    ofContent(content, isPriced),
    ...listOf(calls).map(ofCall),
    { bytes: bytesOf(id, thoughts, config), tokens: 0 },
  ])
}

const ofTool = (tool: Fields): Bill => {
  const {
    name,
    description,
    input_schema: schema,
    parameters,
    input_examples: examples,
  } = fieldsOf(tool.function ?? tool)
  return sumOf([TOOL, { bytes: bytesOf(name, description, schema, parameters, examples), tokens: 0 }])
}

/**
 * The input tokens that are billed of what was sent.
 * @param isPriced whether documents count by their number
 */
export function inputTokensOf(sent: Fields, isPriced: boolean): number {
  const { messages, tools, model: _model, stream: _stream, service_tier: _tier, ...rest } = sent
  const { max_tokens: _limit, stream_options: _options, response_format: format, ...others } = rest
  const { bytes, tokens } = sumOf([
    ...listOf(messages).map((message) => ofMessage(message, isPriced)),
    ...listOf(tools).map(ofTool),
    { bytes: bytesOf(fieldsOf(fieldsOf(format).json_schema).schema, ...Object.values(others)), tokens: 0 },
  ])
  return Math.ceil(bytes / 3) + tokens
}

/** All objects in a value. */
function objectsIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  return typeof value === 'object' && value !== null
    ? [value as Fields, ...Object.values(value).flatMap(objectsIn)]
    : []
}

/** The kinds of tools, anywhere in what was sent, that the upstream runs and bills for. */
export const hostedIn = (sent: Fields): unknown[] =>
  objectsIn(sent).flatMap(({ type }) =>
    /^(web_search|web_fetch|code_execution|tool_search|mcp_)/.test(String(type)) ? [type] : [],
  )

/** How many marks, anywhere in what was sent, ask for a cache that lives for an hour. */
export const longCachesIn = (sent: Fields): number =>
  objectsIn(sent).filter(({ cache_control: mark }) => fieldsOf(mark).ttl === '1h').length

const isText = (file: unknown): boolean => /^data:text\//i.test(String(file))

/** The parts of items that the upstream reads as pictures and files. */
const partsOf = (items: Fields[]): Fields[] =>
  items.flatMap(({ content, output }) =>
    [content, output].flatMap((list) =>
      Array.isArray(list)
        ? (list as Fields[]).filter(({ type }) => type === 'input_image' || type === 'input_file')
        : [],
    ),
  )

/**
 * The input tokens that are billed of what was sent. What only names a model, a limit or a route is no input.
 * @param isPriced whether binary documents count by their number
 */
export function responseInputTokensOf(sent: Fields, isPriced: boolean): number {
  const { model: _model, stream: _stream, store: _store, service_tier: _tier, max_output_tokens: _most, ...read } = sent
  const parts = partsOf(Array.isArray(sent.input) ? (sent.input as Fields[]) : [])
  let bytes = Buffer.byteLength(JSON.stringify(read))
  let tokens = 0
  for (const { type, image_url: picture, file_data: data } of parts) {
    const isNumbered = type === 'input_image' || (isPriced && !isText(data))
    if (!isNumbered) continue
    tokens += type === 'input_image' ? IMAGE_TOKENS : DOCUMENT_TOKENS
    const counted = picture ?? data
    if (/^data:/i.test(String(counted))) bytes -= Buffer.byteLength(JSON.stringify(counted))
  }
  return Math.floor(bytes / 3) + tokens
}

const HOSTED = /^(web_search|file_search|code_interpreter|image_generation|mcp|computer|shell|tool_search$)/

/** The tools, in any list of tools in what was sent, that the upstream runs and bills for. */
export const hostedToolsIn = (sent: Fields): unknown[] =>
  objectsIn(sent).flatMap((one) =>
    Array.isArray(one.tools)
      ? (one.tools as Fields[]).map((tool) => tool?.type).filter((type) => HOSTED.test(String(type)))
      : [],
  )

/** Modes of reasoning, and tiers, of a price of their own, anywhere but in words and schemas. */
export const modesIn = ({ input, reasoning }: Fields): unknown[] =>
  [
    reasoning,
    ...(Array.isArray(input) ? (input as Fields[]).filter(({ type }) => type === 'configuration_update') : []),
  ]
    .flatMap(objectsIn)
    .flatMap(({ mode, service_tier: tier }) => [mode, tier])
    .filter((value) => value !== undefined && value !== null && value !== 'default')
