/**
 * What an upstream that speaks the Responses API bills of a request of that API: its words by the rule of the
 * pre-charge, and a number for each picture and document. And what of it would be billed apart.
 */
import { DOCUMENT_TOKENS } from './message-bills.ts'

type Fields = Record<string, unknown>

const PICTURE_TOKENS = 1500

/** All objects in a value, with the value itself. */
function objectsIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  return typeof value === 'object' && value !== null
    ? [value as Fields, ...Object.values(value).flatMap(objectsIn)]
    : []
}

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
    tokens += type === 'input_image' ? PICTURE_TOKENS : DOCUMENT_TOKENS
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
