/**
 * Responses for clients of the Responses API: the body as it came but for a closed list of edits, and the events as
 * they come, completed (docs/upstreams/responses.md#same-dialect).
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { isEnd } from '../../../shared/chat/responses/join-frames.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FIELDS, MODE } from '../../../shared/chat/responses/fields.ts'
import { RESPONSES } from '../../../shared/chat/responses/carries.ts'
import { toolsOf } from '../../../shared/chat/responses/parts.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import { PREFIXES, begunResponse, itemId } from '../../../shared/chat/responses/response.ts'
import type { Seal } from '../../../shared/chat/seal.ts'
import { asFields, isFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { argumentsSchema } from '../../../shared/chat/schemas.ts'
import { CallIds } from '../sent-names.ts'
import type { ShortNames } from '../short-names.ts'
import { PassThrough } from '../translation.ts'
import { shortUser } from '../user-ids.ts'
import { ResponsesDecoder } from './decode-answer.ts'

/** The body that is sent, but for what every request has. Another upstream of the model may be allowed more. */
export function passed(
  request: ChatRequest,
  { allow }: Pick<Route, 'allow'>,
  open: Seal['open'],
  names: ShortNames,
): Fields {
  const { messages: _messages, max_tokens: limit, input, service_tier: tier, ...rest } = request as ChatRequest & Fields
  const { background: _background, previous_response_id: _previous, stream: _stream, store: _store, ...more } = rest
  const { reasoning, ...others } = more
  const sending: Sending = { open, names, ids: new CallIds(RESPONSES) }
  return {
    ...sentFields(others, FIELDS.free, allow),
    ...(others.tools !== undefined &&
      others.tools !== null && {
        tools: listOf(others.tools).map((tool) => sentTool(tool, names)),
      }),
    ...(isFields(others.tool_choice) && { tool_choice: names.sent(others.tool_choice) }),
    ...(isText(others.user) && { user: shortUser(others.user) }),
    ...(isText(others.safety_identifier) && { safety_identifier: shortUser(others.safety_identifier) }),
    ...(hasTools(request) || others.parallel_tool_calls === undefined ? {} : { parallel_tool_calls: undefined }),
    ...(reasoning !== undefined && { reasoning: allow.includes(MODE) ? reasoning : withoutMode(asFields(reasoning)) }),
    input: Array.isArray(input) ? input.flatMap((item: Fields) => sentItem(item, sending)) : input,
    max_output_tokens: limit,
    ...(allow.includes('service_tier') && isText(tier) && { service_tier: tier }),
  }
}

/** A tool whose schema, if it has one, has the properties that the API wants; so has each of a namespace. */
function sentTool(tool: Fields, names: ShortNames): Fields {
  const { type, parameters, tools } = tool
  const named = names.sentTool(tool)
  if (type === 'namespace') return { ...named, tools: listOf(tools).map((one) => sentTool(one, names)) }
  return isFields(parameters) ? { ...named, parameters: argumentsSchema(parameters) } : named
}

const withoutMode = ({ mode: _mode, ...rest }: Fields): Fields => rest

const hasTools = (request: ChatRequest): boolean => toolsOf(request).length > 0

/** What of a request decides how its items are sent. */
type Sending = { open: Seal['open']; names: ShortNames; ids: CallIds }

/**
 * An item as its vendor takes it. A thought goes back to the route that made it alone, as that made it; what an SDK has
 * read of an answer stays out; ids and types of pictures are those that the API takes.
 */
function sentItem(item: Fields, { open, names, ids }: Sending): Fields[] {
  const { parsed_arguments: parsed, ...rest } = item
  const sent = parsed === undefined ? item : rest
  switch (item.type ?? 'message') {
    case 'reasoning': {
      const proof = isText(item.encrypted_content) ? open(item.encrypted_content) : null
      return proof && isText(proof.encrypted_content) ? [{ ...sent, ...proof }] : []
    }
    case 'function_call':
    case 'custom_tool_call':
      return [{ ...names.sentTool(sent), call_id: ids.ofCall(String(item.call_id)) }]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ ...sent, call_id: ids.ofResult(String(item.call_id)), output: sentParts(item.output) }]
    case 'message':
      return [{ ...sent, content: sentParts(item.content) }]
    case 'additional_tools':
      return [{ ...sent, tools: listOf(item.tools).map((tool) => sentTool(tool, names)) }]
    default:
      return [sent]
  }
}

const sentParts = (content: unknown): unknown =>
  Array.isArray(content)
    ? (content as Fields[]).map(({ parsed: _read, ...part }) =>
        isText(part.image_url) ? { ...part, image_url: typedPicture(part.image_url) } : part,
      )
    : content

/** An event without its number: events are numbered as they leave. */
const withoutNumber = ({ sequence_number: _number, ...event }: Fields): Fields => event

/** What a response repeats of its request, which is not stored, and what is ours. */
type About = { request: ChatRequest; callId: string; seal: Seal['seal'] }

/** Passes the events of one answer on, under our own ids. */
export class ResponsesPassThrough extends PassThrough {
  private readonly about: About
  private readonly ids = new Map<unknown, string>()

  constructor(about: About) {
    super(new ResponsesDecoder())
    this.about = about
  }

  protected passedOn(event: Fields): Fields[] {
    const { response, output_index: index } = event
    if (response !== undefined) {
      const named = this.named(asFields(response))
      // The whole answer is sent at the end by the process that stores it.
      const { output: _output, ...rest } = named
      return [{ ...withoutNumber(event), response: isEnd(event) ? rest : named }]
    }
    return [index === undefined ? withoutNumber(event) : this.ours(event)]
  }

  /** A response under our own id, with what is ours of it. */
  private named(response: Fields): Fields {
    const { callId, request } = this.about
    const created = typeof response.created_at === 'number' ? response.created_at : Math.floor(Date.now() / 1000)
    const ours = begunResponse(callId, created, request)
    const { id, background, store, previous_response_id, instructions, tools } = ours
    return { ...ours, ...response, id, background, store, previous_response_id, instructions, tools, usage: null }
  }

  /** An event of an item, with our own id of it: items are found by it, also those of others. */
  private ours(event: Fields): Fields {
    const { output_index: index, item, item_id: _name, ...rest } = withoutNumber(event)
    const { id, type } = asFields(item)
    const known = this.ids.get(index) ?? itemId(prefixOf(id, type), this.about.callId, Number(index))
    this.ids.set(index, known)
    const about = item === undefined ? { item_id: known } : { item: this.sealed({ ...asFields(item), id: known }, id) }
    return { ...rest, output_index: index, ...about }
  }

  /** A thought with its proof for this route alone, which knows it by its own id. */
  private sealed(item: Fields, id: unknown): Fields {
    const { encrypted_content: content } = item
    return isText(content) ? { ...item, encrypted_content: this.about.seal({ id, encrypted_content: content }) } : item
  }
}

/** The prefix of an item's id: its upstream's, else that of its type. */
const prefixOf = (id: unknown, type: unknown): string =>
  /^[a-z]{1,12}(?=_)/.exec(String(id))?.[0] ?? PREFIXES[String(type)] ?? 'item'
