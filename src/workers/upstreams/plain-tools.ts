/**
 * Tools for upstreams that know functions of plain names alone. A custom tool, which takes one text that is no JSON, is
 * a function of one text; a tool of a namespace has its name in front; names and ids have the form that the protocol
 * takes. Calls come back under the names that they were asked for, and with ids that no earlier call has.
 */
import { randomUUID } from 'node:crypto'
import { decodedTwice } from '../../shared/chat/arguments.ts'
import { wholeName } from '../../shared/chat/canonical.ts'
import type { Block, CanonicalChat, Tool, ToolCall } from '../../shared/chat/canonical.ts'
import type { AnswerEvent } from '../../shared/chat/events.ts'
import type { Carries } from '../../shared/chat/features.ts'
import { ONE_TEXT, inputOf, withFormat } from './custom-tools.ts'
import { CallIds, SafeNames } from './sent-names.ts'
import type { Decoder } from './translation.ts'

/** What a tool is called by its client, and of which kind it is. */
type Asked = Pick<ToolCall, 'name' | 'namespace' | 'isCustom'>

/** A chat with functions alone, and what turns their calls back. */
export type Plain = { chat: CanonicalChat; restoring: (decoder: Decoder) => Decoder }

/** The chat with functions of plain names in the place of other tools. */
export function withPlainTools(chat: CanonicalChat, carries: Carries): Plain {
  const names = new SafeNames(carries.longestName)
  const ids = new CallIds(carries)
  const nameOf = (tool: { name: string; namespace?: string | undefined }): string => names.of(wholeName(tool))
  const asked = new Map(chat.tools.map((tool) => [nameOf(tool), askedOf(tool)]))
  const { toolChoice: choice } = chat
  const plain: CanonicalChat = {
    ...chat,
    turns: chat.turns.map((turn) => ({ ...turn, blocks: plainBlocks(turn.blocks, ids, nameOf) })),
    tools: chat.tools.map((tool) => functionOf(tool, nameOf(tool))),
    ...(typeof choice === 'object' && {
      toolChoice: { tool: nameOf({ name: choice.tool, namespace: choice.namespace }) },
    }),
  }
  return {
    chat: plain,
    restoring: (decoder) =>
      new RestoredCalls(decoder, ids, (name) => asked.get(name) ?? { name: names.asked(name) ?? name }),
  }
}

const askedOf = ({ kind, name, namespace }: Tool): Asked => ({
  name,
  ...(namespace !== undefined && { namespace }),
  ...(kind === 'custom' && { isCustom: true as const }),
})

/** Blocks whose calls are of functions. What a vendor wants back with a call goes along under its id. */
function plainBlocks(blocks: readonly Block[], ids: CallIds, nameOf: (call: ToolCall) => string): Block[] {
  const sent = new Map<string, string>()
  const plain = blocks.map((block): Block => {
    if (block.kind === 'tool_result') return { ...block, callId: ids.ofResult(block.callId) }
    if (block.kind !== 'tool_call') return block
    const { isCustom, namespace: _namespace, ...call } = block
    const id = ids.ofCall(block.id)
    sent.set(block.id, id)
    return {
      ...call,
      id,
      name: nameOf(block),
      args: isCustom ? JSON.stringify({ input: block.args }) : decodedTwice(block.args),
    }
  })
  return plain.map((block) => {
    const id = block.kind === 'reasoning' ? sent.get(block.id ?? '') : undefined
    return id === undefined ? block : ({ ...block, id } as Block)
  })
}

function functionOf(tool: Tool, name: string): Tool {
  const { namespace: _namespace, format, ...rest } = tool
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
  private readonly ids = new Map<string, string>()
  private readonly decoder: Decoder
  private readonly earlier: CallIds
  private readonly asked: (name: string) => Asked

  constructor(decoder: Decoder, earlier: CallIds, asked: (name: string) => Asked) {
    this.decoder = decoder
    this.earlier = earlier
    this.asked = asked
  }

  get isFinished(): boolean {
    return this.decoder.isFinished
  }

  get isCut(): boolean {
    return this.decoder.isCut === true
  }

  usageIn: Decoder['usageIn'] = (event) => this.decoder.usageIn(event)

  events: Decoder['events'] = (event, isWhole) =>
    this.decoder.events(event, isWhole).flatMap((one) => this.restore(one))

  end: Decoder['end'] = (ending) => this.decoder.end(ending).flatMap((one) => this.restore(one))

  private restore(event: AnswerEvent): AnswerEvent[] {
    if (event.is === 'block' && event.kind === 'tool_call') {
      const asked = this.asked(event.name)
      if (asked.isCustom) this.held.set(event.block, '')
      return [{ ...event, ...asked, id: this.idOf(event.id) }]
    }
    if (event.is === 'block' && event.kind === 'reasoning' && event.id !== undefined)
      return [{ ...event, id: this.idOf(event.id) }]
    const held = 'block' in event ? this.held.get(event.block) : undefined
    if (held === undefined) return [event]
    if (event.is === 'delta') this.held.set(event.block, held + event.text)
    if (event.is !== 'stop') return []
    this.held.delete(event.block)
    const text = inputOf(held)
    return [...(text === '' ? [] : [{ is: 'delta' as const, block: event.block, text }]), event]
  }

  /** The id of a call: another one than its upstream's where an earlier call has that, as clients look results up. */
  private idOf(id: string): string {
    if (!this.earlier.has(id)) return id
    const known = this.ids.get(id) ?? `call_${randomUUID().replaceAll('-', '')}`
    this.ids.set(id, known)
    return known
  }
}
