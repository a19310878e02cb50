/** From a request of the Messages API to its canonical form. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Tool, ToolChoice, Turn } from '../canonical.ts'
import { CLAUDE_THOUGHTS, formatOf, markOf, proofOf, samplingOf } from '../canonical.ts'
import { fileBlocks } from '../documents.ts'
import type { Open } from '../seal.ts'
import { isSealed } from '../seal.ts'
import { describedTool } from './client-tools.ts'

/** A valid request in its canonical form. @param open opens what was sealed for the route that is asked */
export function canonicalMessages(request: ChatRequest, open: Open): CanonicalChat {
  const {
    messages,
    max_tokens: maxTokens,
    system,
    tools,
    tool_choice: choice,
    stop_sequences: stops,
    ...rest
  } = request
  const { temperature, top_p, top_k, output_config: config, metadata, ...further } = rest as Fields
  const { effort, format } = asFields(config)
  const { user_id: user } = asFields(metadata)
  const read = new Reader(open)
  const ofSystem = read.blocksOf(
    Array.isArray(system) ? listOf(system).filter((block) => !isBillingHeader(block)) : system,
    'system',
  )
  const toolChoice = toolChoiceOf(choice)
  return {
    turns: [
      ...(ofSystem.length > 0 ? [{ role: 'system' as const, blocks: ofSystem }] : []),
      ...messages.map((message, index) => read.turnOf(message, `messages.${index}.content`)),
    ],
    maxTokens,
    choices: 1,
    tools: listOf(tools).flatMap(toolOf),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(asFields(choice).disable_parallel_tool_use === true && { oneToolAtATime: true as const }),
    stop: Array.isArray(stops) ? stops.filter(isText) : [],
    sampling: samplingOf({ temperature, top_p, top_k }),
    ...formatOf(asFields(format).type, asFields(format), 'output_config.format'),
    ...effortOf(messages, effort),
    ...(isText(user) && { user }),
    further,
  }
}

/** A line of the system by which Claude Code names to its vendor the customer to bill: it is not for the model. */
export const isBillingHeader = ({ text }: Fields): boolean =>
  isText(text) && text.startsWith('x-anthropic-billing-header')

/** The effort of the newest turn that names one, else that of the whole request. */
function effortOf(messages: readonly Fields[], effort: unknown): Pick<CanonicalChat, 'effort'> {
  const newest = messages.map(({ output_config: config }) => asFields(config).effort).findLast(isText) ?? effort
  return isText(newest) ? { effort: newest } : {}
}

/** Reads turns and their blocks. `at`: the path of a content or a block. */
class Reader {
  private readonly open: Open

  constructor(open: Open) {
    this.open = open
  }

  turnOf({ role, content }: Fields, at: string): Turn {
    return { role: role === 'assistant' || role === 'system' ? role : 'user', blocks: this.blocksOf(content, at) }
  }

  blocksOf(content: unknown, at: string): Block[] {
    if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
    return listOf(content).flatMap((block, index) => this.blockOf(block, `${at}.${index}`))
  }

  private blockOf(block: Fields, at: string): Block[] {
    const { type } = block
    switch (type) {
      case 'text':
        return isText(block.text) ? [{ kind: 'text', text: block.text, ...markOf(block) }] : []
      case 'image':
        return [{ kind: 'image', url: urlOf(asFields(block.source)), ...markOf(block) }]
      case 'thinking':
      case 'redacted_thinking':
        return this.thoughtOf(block)
      case 'tool_use':
        return [callOf(block, at)]
      case 'tool_result':
        return [this.resultOf(block, at)]
      case 'document':
        return [...this.documentOf(block, at), ...citationsOf(block, at)]
      case 'search_result':
        return [searchResult(block, this.blocksOf(block.content, at)), ...citationsOf(block, at)]
      case 'tool_reference':
        return [{ kind: 'text', text: String(block.tool_name) }]
      default:
        return [{ kind: 'special', is: 'tool_changes', at, fields: block }]
    }
  }

  /** A thought: a Claude's own, or what another model wants back if it is opened for its route; else its text. */
  private thoughtOf({ type, thinking, signature, data }: Fields): Block[] {
    const text = isText(thinking) ? thinking : ''
    const proof = type === 'thinking' ? signature : data
    if (!isText(proof)) return [{ kind: 'reasoning', text }]
    if (!isSealed(proof))
      return [
        {
          kind: 'reasoning',
          text,
          ...(type === 'thinking' ? { signature: proof } : { sealed: proof }),
          format: CLAUDE_THOUGHTS,
        },
      ]
    const opened = this.open(proof)
    if (opened) return [{ kind: 'reasoning', text, ...proofOf(opened) }]
    return text === '' ? [] : [{ kind: 'reasoning', text }]
  }

  private resultOf(block: Fields, at: string): Block {
    return {
      kind: 'tool_result',
      callId: String(block.tool_use_id),
      blocks: this.blocksOf(block.content, `${at}.content`),
      ...(block.is_error === true && { isError: true as const }),
      at,
      ...markOf(block),
    }
  }

  /** A document: its text, or a file. */
  private documentOf(block: Fields, at: string): Block[] {
    const { type, data, content, media_type: mediaType, url } = asFields(block.source)
    const [name, context] = [block.title, block.context].map((text) => (isText(text) ? text : undefined))
    const about = { at, name, context, ...markOf(block) }
    switch (type) {
      case 'text':
        return fileBlocks({ ...about, data: `data:text/plain;base64,${Buffer.from(String(data)).toString('base64')}` })
      case 'content': {
        const head = [name, context].filter(isText).join('\n')
        return [
          ...(head === '' ? [] : [{ kind: 'text' as const, text: head }]),
          ...this.blocksOf(content, `${at}.source.content`),
        ]
      }
      case 'base64':
        return fileBlocks({ ...about, data: `data:${String(mediaType)};base64,${String(data)}` })
      default:
        return fileBlocks({ ...about, url: String(url) })
    }
  }
}

const callOf = (block: Fields, at: string): Block => ({
  kind: 'tool_call',
  id: String(block.id),
  name: String(block.name),
  args: argsOf(block.input),
  at,
  ...markOf(block),
})

const searchResult = ({ title, source }: Fields, content: Block[]): Block => ({
  kind: 'text',
  text: [String(title), String(source), ...content.map(textOf)].join('\n'),
})

/** Quotes that are asked for: only a Claude makes them. */
const citationsOf = ({ citations }: Fields, at: string): Block[] =>
  asFields(citations).enabled === true ? [{ kind: 'special', is: 'citations', at: `${at}.citations`, fields: {} }] : []

/** Arguments are an object: a client sends an empty text back where a call had none. */
const argsOf = (input: unknown): string => JSON.stringify(input === '' ? {} : (input ?? {}))

const textOf = (block: Block): string => (block.kind === 'text' ? block.text : '')

/** An image's source as an address: its own, or a data URI. */
const urlOf = ({ type, url, media_type: mediaType, data }: Fields): string =>
  type === 'base64' ? `data:${String(mediaType)};base64,${String(data)}` : String(url)

/** A tool that the client runs. One of the vendor's own kinds, such as its editor, has no schema of its own. */
function toolOf(tool: Fields): Tool[] {
  const { type, name, strict, input_examples: examples } = tool
  const { description: about, schema } = describedTool(type) ?? {
    description: tool.description,
    schema: tool.input_schema,
  }
  const shown = listOf(examples).map((example) => JSON.stringify(example))
  const head = shown.length > 0 ? ['Examples of its input:'] : []
  const description = [about, ...head, ...shown].filter(isText).join('\n')
  return [
    {
      kind: 'function',
      name: String(name),
      ...(isText(description) && { description }),
      schema: schema === undefined ? { type: 'object' } : asFields(schema),
      ...(typeof strict === 'boolean' && { strict }),
      ...markOf(tool),
    },
  ]
}

const CHOICES: Readonly<Record<string, ToolChoice>> = { auto: 'auto', any: 'required', none: 'none' }

function toolChoiceOf(choice: unknown): ToolChoice | undefined {
  const { type, name } = asFields(choice)
  return type === 'tool' ? { tool: String(name) } : CHOICES[String(type)]
}
