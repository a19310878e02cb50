/**
 * Responses for clients of the Responses API: the body as it came but for a closed list of edits, and the events as
 * they come (docs/upstreams/responses.md#same-dialect).
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { isEnd } from '../../../shared/chat/responses/join-frames.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FIELDS } from '../../../shared/chat/responses/fields.ts'
import { ITEM_EVENTS, eventsOfItem, itemAdded, piecesOf, wordsOf } from '../../../shared/chat/responses/items.ts'
import { begunResponse, itemId } from '../../../shared/chat/responses/response.ts'
import type { Seal } from '../../../shared/chat/seal.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { PassThrough } from '../translation.ts'
import { ResponsesDecoder, eventsIn, isResponse } from './decode-answer.ts'

/** The body that is sent, but for what every request has. Another upstream of the model may be allowed more. */
export function passed(request: ChatRequest, { allow }: Pick<Route, 'allow'>, open: Seal['open']): Fields {
  const { messages: _messages, max_tokens: limit, input, service_tier: tier, ...rest } = request as ChatRequest & Fields
  const { background: _background, previous_response_id: _previous, stream: _stream, store: _store, ...more } = rest
  const { reasoning, ...others } = more
  return {
    ...sentFields(others, FIELDS.free, allow),
    ...(reasoning !== undefined && { reasoning: allow.includes(MODE) ? reasoning : withoutMode(asFields(reasoning)) }),
    input: Array.isArray(input) ? input.flatMap((item: Fields) => sentItem(item, open)) : input,
    max_output_tokens: limit,
    ...(allow.includes('service_tier') && isText(tier) && { service_tier: tier }),
  }
}

/** How the catalogue names the mode of reasoning, of which one is billed at a price of its own. */
const MODE = 'reasoning.mode'

const withoutMode = ({ mode: _mode, ...rest }: Fields): Fields => rest

/**
 * An item as its vendor takes it. A thought goes back to the route that made it alone, as that made it; what an SDK has
 * read of an answer stays out.
 */
function sentItem(item: Fields, open: Seal['open']): Fields[] {
  const { parsed_arguments: _parsed, ...sent } = item
  if (item.type === 'reasoning') {
    const proof = isText(item.encrypted_content) ? open(item.encrypted_content) : null
    return proof && isText(proof.encrypted_content) ? [{ ...sent, ...proof }] : []
  }
  const { content } = item
  if (!Array.isArray(content) || !(content as Fields[]).some((part) => 'parsed' in part))
    return ['parsed_arguments' in item ? sent : item]
  return [{ ...sent, content: (content as Fields[]).map(({ parsed: _read, ...part }) => part) }]
}

/** The events that clients know. */
const EVENTS: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.output_text.annotation.added',
  ...ITEM_EVENTS,
])

/** An event without its number: events are numbered as they leave. */
const withoutNumber = ({ sequence_number: _number, ...event }: Fields): Fields => event

/** What a response repeats of its request, which is not stored, and what is ours. */
type About = { request: ChatRequest; callId: string; seal: Seal['seal'] }

/** Passes the events of one answer nearly as they came. */
export class ResponsesPassThrough extends PassThrough {
  private readonly about: About
  private readonly ids = new Map<unknown, string>()
  private readonly sent = new Set<unknown>()
  private readonly done = new Set<unknown>()
  private hasStarted = false
  private hasEnded = false

  constructor(about: About) {
    super(new ResponsesDecoder())
    this.about = about
  }

  protected passedOn(event: Fields, isWhole: boolean): Fields[] {
    const events = isWhole || isResponse(event) ? eventsIn(event, isWhole) : [event]
    return events.filter(({ type }) => EVENTS.has(type)).flatMap((one) => this.framesOf(one))
  }

  private framesOf(event: Fields): Fields[] {
    if (this.hasEnded) return []
    const { type, response } = event
    if (type === 'response.created' || type === 'response.in_progress') return this.start(event)
    // Readers want the beginning of a response before anything else.
    const start = this.hasStarted ? [] : this.start({ type: 'response.created', response: asFields(response) })
    if (isEnd(event)) return [...start, ...this.late(asFields(response)), this.ended(event)]
    return [...start, ...this.itemFrames(event)]
  }

  private start(event: Fields): Fields[] {
    if (event.type === 'response.created' && this.hasStarted) return []
    const isFirst = !this.hasStarted
    this.hasStarted = true
    const frame = {
      ...withoutNumber(event),
      response: this.named({ ...asFields(event.response), status: 'in_progress', output: [] }),
    }
    return isFirst && event.type !== 'response.created' ? [{ ...frame, type: 'response.created' }, frame] : [frame]
  }

  /** A response under our own id, with what is ours of it. */
  private named(response: Fields): Fields {
    const { callId, request } = this.about
    const created = typeof response.created_at === 'number' ? response.created_at : Math.floor(Date.now() / 1000)
    const ours = begunResponse(callId, created, request)
    const { id, background, store, previous_response_id, instructions, tools } = ours
    return { ...ours, ...response, id, background, store, previous_response_id, instructions, tools, usage: null }
  }

  private ended(event: Fields): Fields {
    this.hasEnded = true
    const { output: _output, ...response } = this.named(asFields(event.response))
    return { ...withoutNumber(event), response }
  }

  /** The items that were not reported before the end. */
  private late({ output }: Fields): Fields[] {
    return listOf(output).flatMap((item, index) =>
      this.done.has(index) ? [] : eventsOfItem({ item, index }).flatMap((one) => this.itemFrames(one)),
    )
  }

  private itemFrames(event: Fields): Fields[] {
    const { type, output_index: index, item } = event
    if (this.done.has(index)) return []
    if (type === 'response.output_item.added') return this.ids.has(index) ? [] : [this.ours(event)]
    if (wordsOf(event) !== null) this.sent.add(index)
    if (type !== 'response.output_item.done') return this.ids.has(index) ? [this.ours(event)] : []
    const placed = { item: asFields(item), index: Number(index) }
    const added = this.ids.has(index) ? [] : [itemAdded(placed)]
    // Send now what was not sent piece by piece: delivery is counted by pieces.
    const words = this.sent.has(index) ? [] : piecesOf(placed).filter(({ text }) => text !== '')
    const untold = words.flatMap(({ begin, text, delta, end }) => [...begin, delta(text), ...end])
    const frames = [...added, ...untold, event].map((one) => this.ours(one))
    this.done.add(index)
    return frames
  }

  /** An event of an item, with our own id of it: items are found by it, also those of others. */
  private ours(event: Fields): Fields {
    const { output_index: index, item, item_id: itemName, ...rest } = withoutNumber(event)
    const known = this.ids.get(index) ?? this.idOf(asFields(item).id ?? itemName, Number(index))
    this.ids.set(index, known)
    return {
      ...rest,
      output_index: index,
      ...(item !== undefined && { item: this.sealed({ ...asFields(item), id: known }, asFields(item).id) }),
      ...(itemName !== undefined && { item_id: known }),
    }
  }

  private idOf(id: unknown, index: number): string {
    const prefix = /^[a-z]{1,12}(?=_)/.exec(String(id))?.[0] ?? 'item'
    return itemId(prefix, this.about.callId, index)
  }

  /** A thought with its proof for this route alone, which knows it by its own id. */
  private sealed(item: Fields, id: unknown): Fields {
    const { encrypted_content: content } = item
    return isText(content) ? { ...item, encrypted_content: this.about.seal({ id, encrypted_content: content }) } : item
  }
}
