/**
 * Everything that a chat may ask for and that protocols differ in. Each protocol has a table with a cell for each
 * (`carries.ts` in the folder of its dialect); what no cell knows is refused.
 */
import { asList, isFields } from '../platform/fields.ts'
import { FILE_TYPES, isByAddress, typeOfData } from './documents.ts'
import type { Block, CanonicalChat, Special, Turn } from './canonical.ts'

/** Finds the first place in a chat that asks for a feature, as its client calls it; null where nothing does. */
type Find = (chat: CanonicalChat) => string | null

const named =
  (name: string, isAsked: (chat: CanonicalChat) => boolean): Find =>
  (chat) =>
    isAsked(chat) ? name : null

const inBlocks =
  (pathOf: (block: Block) => string | false): Find =>
  ({ turns }) => {
    for (const block of allBlocks(turns)) {
      const path = pathOf(block)
      if (path !== false) return path
    }
    return null
  }

/** The path of the first turn that has a participant's name. */
const participant =
  (isAsked: (role: Turn['role']) => boolean): Find =>
  ({ turns }) => {
    const at = turns.findIndex(({ name, role }) => name !== undefined && isAsked(role))
    return at < 0 ? null : `messages[${at}].name`
  }

const special = (is: Special['is']): Find =>
  inBlocks((block) => block.kind === 'special' && block.is === is && block.at)

const document = (isAsked: (url: string) => boolean): Find =>
  inBlocks((block) => block.kind === 'document' && isAsked(block.url) && block.at)

const inResults = (kind: Block['kind']): Find =>
  inBlocks((block) => block.kind === 'tool_result' && block.blocks.some((one) => one.kind === kind) && block.at)

/** A field under its own name, unless its value asks for nothing. */
const further =
  (name: string, ...neutral: unknown[]): Find =>
  ({ further: fields }) =>
    Object.hasOwn(fields, name) && isAsked(fields[name], neutral) ? name : null

const isAsked = (value: unknown, neutral: readonly unknown[]): boolean =>
  value !== undefined &&
  value !== null &&
  !neutral.includes(value) &&
  !(Array.isArray(value) && value.length === 0) &&
  !(isFields(value) && Object.keys(value).length === 0)

/** Whether a tool must be called that is not there. */
const isMissing = (choice: CanonicalChat['toolChoice'], tools: CanonicalChat['tools']): boolean =>
  typeof choice === 'object' ? tools.every(({ name }) => name !== choice.tool) : choice === 'required' && !tools.length

/** The probabilities of an answer's words, in the `include` of Responses. */
const LOGPROBS = 'message.output_text.logprobs'

/** The smallest limit of the output that the Responses API takes, in tokens. */
export const LEAST_LIMIT = 16

/** What may be asked for, and where it is found. */
export const FEATURES = {
  temperature: named('temperature', ({ sampling }) => sampling.temperature !== undefined),
  top_p: named('top_p', ({ sampling }) => sampling.top_p !== undefined),
  top_k: named('top_k', ({ sampling }) => sampling.top_k !== undefined),
  short_limits: named('max_tokens', ({ maxTokens }) => maxTokens < LEAST_LIMIT),
  n: named('n', ({ choices }) => choices > 1),
  stop: named('stop', ({ stop }) => stop.length > 0),
  json_object: ({ format }) => (format?.schema === null ? format.at : null),
  json_schema: ({ format }) => (format?.schema ? format.at : null),
  verbosity: ({ verbosity }) => (verbosity && verbosity.level !== 'medium' ? verbosity.at : null),
  effort: named('effort', ({ effort }) => effort !== undefined),
  user: named('user', ({ user }) => user !== undefined),
  tools: named('tools', ({ tools }) => tools.length > 0),
  custom_tools: named('tools', ({ tools }) => tools.some(({ kind }) => kind === 'custom')),
  namespaces: named('tools', ({ tools }) => tools.some(({ namespace }) => namespace !== undefined)),
  strict_tools: named('tools', ({ tools }) => tools.some(({ strict }) => strict === true)),
  functions: named('functions', ({ isLegacy }) => isLegacy === true),
  tool_choice: named('tool_choice', ({ toolChoice }) => toolChoice !== undefined),
  missing_tool: ({ toolChoice, tools, isLegacy }) =>
    isMissing(toolChoice, tools) ? (isLegacy ? 'function_call' : 'tool_choice') : null,
  one_tool_at_a_time: named('parallel_tool_calls', ({ oneToolAtATime }) => oneToolAtATime === true),
  cache_marks: inBlocks((block) => 'cacheMark' in block && 'cache_control'),
  images: inBlocks(({ kind }) => kind === 'image' && 'image'),
  image_detail: inBlocks((block) => block.kind === 'image' && block.detail !== undefined && 'detail'),
  result_images: inResults('image'),
  pdfs: document((url) => typeOfData(url) === FILE_TYPES.pdf),
  document_addresses: document(isByAddress),
  other_documents: document((url) => !isByAddress(url) && typeOfData(url) !== FILE_TYPES.pdf),
  result_documents: inResults('document'),
  result_errors: inBlocks((block) => block.kind === 'tool_result' && block.isError === true && block.at),
  loose_results: ({ turns }) => looseResult(turns),
  unanswered_calls: ({ turns }) => unansweredCall(turns),
  names: participant((role) => role !== 'assistant'),
  assistant_names: participant((role) => role === 'assistant'),
  thoughts: inBlocks(({ kind }) => kind === 'reasoning' && 'reasoning'),
  citations: special('citations'),
  parts: special('parts'),
  messages_parts: special('messages_parts'),
  tool_changes: special('tool_changes'),
  configuration: special('configuration'),
  min_p: further('min_p', 0),
  seed: further('seed'),
  presence_penalty: further('presence_penalty', 0),
  frequency_penalty: further('frequency_penalty', 0),
  repetition_penalty: further('repetition_penalty', 1),
  logit_bias: further('logit_bias'),
  logprobs: further('logprobs', false),
  top_logprobs: further('top_logprobs', 0),
  include_logprobs: ({ further: { include } }) => (asList(include).includes(LOGPROBS) ? 'include' : null),
  prediction: further('prediction'),
  modalities: further('modalities'),
  prompt_cache_key: further('prompt_cache_key'),
  metadata: further('metadata'),
  store: further('store', false),
  client_metadata: further('client_metadata'),
  stream_options: further('stream_options'),
  include: further('include'),
  truncation: further('truncation', 'disabled'),
  max_tool_calls: further('max_tool_calls'),
  background: further('background', false),
  previous_response_id: further('previous_response_id'),
  thinking: further('thinking'),
  cache_control: further('cache_control'),
  context_management: further('context_management'),
} as const satisfies Readonly<Record<string, Find>>

/** What may be asked for. */
export type Feature = keyof typeof FEATURES

/**
 * What becomes of a feature: it is `carried` in the protocol's own form; done `here`; a `hint` that changes no answer,
 * and is not sent; or `refused` before the charge.
 */
export type Cell = 'carried' | 'here' | 'hint' | 'refused'

/** What a protocol takes. */
export type Carries = {
  cells: Readonly<Record<Feature, Cell>>
  /** Of the id of a call and the name of a tool, in characters, and the form of such an id. */
  longestCallId: number
  longestName: number
  callIds?: RegExp
  /** How many stop sequences, and which; the others are applied here. */
  mostStops: number
  stops?: RegExp
  /** Whether the fields that its `allow` names are its own in every dialect. */
  takesAllowed?: true
}

/** The fields of a body that every request has, or that only the gateway reads. */
const OF_EVERY_REQUEST: ReadonlySet<string> = new Set(['model', 'stream'])

/** The other fields of a chat that no feature is named after: those that the catalogue allows. */
export const unnamedFields = ({ further: fields }: CanonicalChat): string[] =>
  Object.keys(fields).filter((name) => !OF_EVERY_REQUEST.has(name) && !Object.hasOwn(FEATURES, name))

function* allBlocks(turns: readonly Turn[]): Generator<Block> {
  for (const { blocks } of turns) yield* withInner(blocks)
}

function* withInner(blocks: readonly Block[]): Generator<Block> {
  for (const block of blocks) {
    yield block
    if (block.kind === 'tool_result') yield* withInner(block.blocks)
  }
}

/** The path of the first result of a tool that answers no call before it, or one that has its result. */
function looseResult(turns: readonly Turn[]): string | null {
  const open = new Map<string, number>()
  const add = (id: string, count: number): number => {
    const left = (open.get(id) ?? 0) + count
    open.set(id, left)
    return left
  }
  for (const block of turns.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'tool_call') add(block.id, 1)
    else if (block.kind === 'tool_result' && add(block.callId, -1) < 0) return block.at
  }
  return null
}

/** The path of the first call that no result after it answers. */
function unansweredCall(turns: readonly Turn[]): string | null {
  const results = new Map<string, number>()
  let first: string | null = null
  for (const block of turns.flatMap(({ blocks }) => blocks).toReversed()) {
    if (block.kind === 'tool_result') results.set(block.callId, (results.get(block.callId) ?? 0) + 1)
    if (block.kind !== 'tool_call') continue
    const left = results.get(block.id) ?? 0
    if (left === 0) first = block.at
    else results.set(block.id, left - 1)
  }
  return first
}
