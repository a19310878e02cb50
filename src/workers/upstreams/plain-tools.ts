/**
 * Tools for upstreams that know functions of plain names alone. A custom tool, which takes one text that is no JSON, is
 * a function of one text; a tool of a namespace has its name in front; and the calls of both come back as they were
 * asked for.
 */
import { createHash } from 'node:crypto'
import type { Block, CanonicalChat, Tool, ToolCall } from '../../shared/chat/canonical.ts'
import type { AnswerEvent } from '../../shared/chat/events.ts'
import { ONE_TEXT, inputOf, withFormat } from './custom-tools.ts'
import type { Decoder } from './translation.ts'

/** The longest name that every upstream takes, in characters. */
const MAX_NAME = 64

/** What a tool is called by its client, and of which kind it is. */
type Asked = Pick<ToolCall, 'name' | 'namespace' | 'isCustom'>

/** A chat with functions alone, and what turns their calls back. */
export type Plain = { chat: CanonicalChat; restoring: (decoder: Decoder) => Decoder }

/** The chat with functions of plain names in the place of other tools. */
export function withPlainTools(chat: CanonicalChat): Plain {
  const isPlain = chat.tools.every(({ kind, namespace }) => kind === 'function' && namespace === undefined)
  const asked = new Map(chat.tools.map((tool) => [plainName(tool), askedOf(tool)]))
  const { toolChoice: choice } = chat
  const plain: CanonicalChat = {
    ...chat,
    turns: chat.turns.map((turn) => ({ ...turn, blocks: turn.blocks.map(plainBlock) })),
    tools: chat.tools.map(functionOf),
    ...(typeof choice === 'object' && {
      toolChoice: { tool: plainName({ name: choice.tool, namespace: choice.namespace }) },
    }),
  }
  return { chat: plain, restoring: (decoder) => (isPlain ? decoder : new RestoredCalls(decoder, asked)) }
}

const askedOf = ({ kind, name, namespace }: Tool): Asked => ({
  name,
  ...(namespace !== undefined && { namespace }),
  ...(kind === 'custom' && { isCustom: true as const }),
})

/** The name with that of its namespace in front; of a name that is too long a part and a digest of all. */
function plainName({ name, namespace }: { name: string; namespace?: string | undefined }): string {
  if (namespace === undefined) return name
  const whole = `${namespace}__${name}`
  if (whole.length <= MAX_NAME) return whole
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${whole.slice(0, MAX_NAME - digest.length - 1)}_${digest}`
}

function plainBlock(block: Block): Block {
  if (block.kind !== 'tool_call' || (!block.isCustom && block.namespace === undefined)) return block
  const { isCustom, namespace, ...call } = block
  const args = isCustom ? JSON.stringify({ input: block.args }) : block.args
  return { ...call, name: plainName({ name: block.name, namespace }), args }
}

function functionOf(tool: Tool): Tool {
  const { namespace: _namespace, format, ...rest } = tool
  const name = plainName(tool)
  if (tool.kind === 'function') return { ...rest, name }
  const description = withFormat(tool.description, format)
  return { ...rest, kind: 'function', name, schema: ONE_TEXT, ...(description !== undefined && { description }) }
}

/**
 * The events of an answer, with calls under the names that they were asked for. The arguments of a custom tool come in
 * pieces of JSON, of which the text cannot be taken: they wait until the call is whole.
 */
class RestoredCalls implements Decoder {
  private readonly held = new Map<number, string>()
  private readonly decoder: Decoder
  private readonly asked: ReadonlyMap<string, Asked>

  constructor(decoder: Decoder, asked: ReadonlyMap<string, Asked>) {
    this.decoder = decoder
    this.asked = asked
  }

  get isFinished(): boolean {
    return this.decoder.isFinished
  }

  usageIn: Decoder['usageIn'] = (event) => this.decoder.usageIn(event)

  events: Decoder['events'] = (event, isWhole) =>
    this.decoder.events(event, isWhole).flatMap((one) => this.restore(one))

  end: Decoder['end'] = (ending) => this.decoder.end(ending).flatMap((one) => this.restore(one))

  private restore(event: AnswerEvent): AnswerEvent[] {
    if (event.is === 'block' && event.kind === 'tool_call') {
      const asked = this.asked.get(event.name)
      if (asked?.isCustom) this.held.set(event.block, '')
      return [{ ...event, ...asked }]
    }
    const held = 'block' in event ? this.held.get(event.block) : undefined
    if (held === undefined) return [event]
    if (event.is === 'delta') this.held.set(event.block, held + event.text)
    if (event.is !== 'stop') return []
    this.held.delete(event.block)
    const text = inputOf(held)
    return [...(text === '' ? [] : [{ is: 'delta' as const, block: event.block, text }]), event]
  }
}
