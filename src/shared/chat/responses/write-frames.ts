/** From the canonical events of an answer to the events of the Responses API. They are numbered when they are sent. */
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { AnswerEvent, BlockStart, EndReason } from '../events.ts'
import type { BlockEvent } from '../ordered-encoder.ts'
import { OrderedEncoder } from '../ordered-encoder.ts'
import type { Seal } from '../seal.ts'
import { itemAdded, itemDone, piecesOf } from './items.ts'
import { PREFIXES, begunResponse, itemId } from './response.ts'

/** Why an answer without an error is incomplete. */
const INCOMPLETE: Readonly<Partial<Record<EndReason, string>>> = {
  length: 'max_output_tokens',
  context: 'max_output_tokens',
  refusal: 'content_filter',
}

/** The item that is open: its words so far, and what proves a thought. */
type OpenItem = { start: BlockStart; id: string; words: string; hasBegun: boolean; signature?: string }

/** The events of one response. Its items follow one another. */
export class ResponseEncoder extends OrderedEncoder {
  private readonly request: ChatRequest
  private readonly callId: string
  private readonly seal: Seal['seal']
  private index = 0
  private open: OpenItem | null = null
  /** Whether the model has explained why it does not answer. */
  private hasRefused = false

  /** @param callId the public id of the call, of which the ids of the response and its items are made */
  constructor(request: ChatRequest, callId: string, seal: Seal['seal']) {
    super()
    this.request = request
    this.callId = callId
    this.seal = seal
  }

  protected start({ created }: AnswerEvent & { is: 'start' }): Fields[] {
    const response = begunResponse(this.callId, created, this.request)
    return [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]
  }

  protected end({ reason }: AnswerEvent & { is: 'end' }): Fields {
    const cause = reason === 'refusal' && this.hasRefused ? undefined : INCOMPLETE[reason]
    return cause === undefined
      ? { type: 'response.completed', response: { status: 'completed', incomplete_details: null } }
      : { type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason: cause } } }
  }

  protected framesOfBlock(event: BlockEvent): Fields[] {
    switch (event.is) {
      case 'block': {
        const { is: _is, block: _block, ...start } = event
        this.hasRefused ||= start.kind === 'refusal'
        this.open = { start, id: itemId(PREFIXES[kindOf(start)]!, this.callId, this.index), words: '', hasBegun: false }
        return [itemAdded(this.placed())]
      }
      case 'delta':
        return this.words(event.text)
      case 'signature':
        if (this.open) this.open.signature = event.signature
        return []
      case 'stop':
        return this.stop(event.isCut ? 'incomplete' : 'completed')
    }
  }

  /** The words of a delta; before the first ones, that their part begins. */
  private words(text: string): Fields[] {
    const { open } = this
    if (!open) return []
    const begin = open.hasBegun ? [] : this.pieces()[0]!.begin
    open.hasBegun = true
    open.words += text
    return [...begin, this.pieces()[0]!.delta(text)]
  }

  private stop(status: string): Fields[] {
    const { open } = this
    if (!open) return []
    // Clients parse the arguments of a call as JSON.
    const isBare =
      status === 'completed' && open.words === '' && open.start.kind === 'tool_call' && !open.start.isCustom
    const rest = isBare ? this.words('{}') : []
    const begin = open.hasBegun || open.start.kind === 'reasoning' ? [] : this.pieces()[0]!.begin
    const { said, end } = this.pieces()[0] ?? {}
    const ending = open.hasBegun || begin.length > 0 ? [said!, ...end!] : []
    const done = itemDone(this.placed(status))
    this.open = null
    this.index += 1
    return [...rest, ...begin, ...ending, done]
  }

  private pieces() {
    return piecesOf(this.placed())
  }

  private placed(status = 'in_progress'): { item: Fields; index: number } {
    const { start, id, words, signature } = this.open!
    return { item: this.itemOf(start, { id, words, signature, status }), index: this.index }
  }

  private itemOf(
    start: BlockStart,
    { id, words, signature, status }: { id: string; words: string; signature: string | undefined; status: string },
  ): Fields {
    switch (start.kind) {
      case 'text':
        return messageOf(id, status, { type: 'output_text', text: words, annotations: [] })
      case 'refusal':
        return messageOf(id, status, { type: 'refusal', refusal: words })
      case 'reasoning': {
        const isDone = status !== 'in_progress'
        const summary = isDone && words === '' ? [] : [{ type: 'summary_text', text: words }]
        const { sealed, format, id: vendorsId } = start
        const isProved = isDone && (signature !== undefined || sealed !== undefined)
        const proof = isProved && {
          encrypted_content: this.seal({ text: words, signature, sealed, format, id: vendorsId }),
        }
        return { id, type: 'reasoning', summary, ...proof }
      }
      case 'tool_call': {
        const { id: callId, name, namespace, isCustom } = start
        const called = { call_id: callId, name, ...(namespace !== undefined && { namespace }) }
        return isCustom
          ? { id, type: 'custom_tool_call', status, ...called, input: words }
          : { id, type: 'function_call', status, ...called, arguments: words }
      }
    }
  }
}

function kindOf(start: BlockStart): string {
  if (start.kind === 'reasoning') return 'reasoning'
  if (start.kind === 'tool_call') return start.isCustom ? 'custom_tool_call' : 'function_call'
  return 'message'
}

const messageOf = (id: string, status: string, part: Fields): Fields => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content: [part],
})
