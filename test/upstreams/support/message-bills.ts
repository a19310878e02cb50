/**
 * What an upstream of either protocol bills of a request that was a message: its words by the rule of the pre-charge,
 * and a number for each picture, document, turn, tool and call. And what of it would be billed apart.
 */

type Fields = Record<string, unknown>

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

const IMAGE: Bill = { bytes: 0, tokens: 1500 }
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
