/**
 * The items of a request of the Responses API, and the pictures and files in them: in messages, and in what tools
 * answered.
 */
import { asFields, isAddress, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { jsonBytes } from '../../platform/json-bytes.ts'
import type { CountingRules } from '../../terms/pricing.ts'
import { tokensOfPart } from '../../terms/pricing.ts'

/** A picture or a file, and the path to it, such as `input.0.content.1`. */
export type Part = { fields: Fields; path: string }

type Body = { input?: unknown; tools?: unknown }

/** The items of a request: an input that is a text is what its user says. */
export const itemsOf = ({ input }: Body): Fields[] =>
  Array.isArray(input) ? input.map(asFields) : [{ type: 'message', role: 'user', content: input }]

/** The tools of a request, with those that stand among its items. */
export const toolsOf = (body: Body): Fields[] => [
  ...listOf(body.tools),
  ...itemsOf(body).flatMap(({ type, tools }) => (type === 'additional_tools' ? listOf(tools) : [])),
]

/** The parts and tools of all items: counted before any of them is checked. */
export const partCount = ({ input }: Body): number =>
  Array.isArray(input)
    ? input.reduce<number>((sum, item) => {
        const { content, output, summary, tools } = asFields(item)
        return [content, output, summary, tools].reduce<number>((parts, list) => parts + lengthOf(list), sum)
      }, 0)
    : 0

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0)

/** Where the parts of an item stand, by its type. What else there is has a form that only its vendor knows. */
const PLACES: ReadonlyMap<unknown, 'content' | 'output'> = new Map([
  ['message', 'content'],
  ['function_call_output', 'output'],
  ['custom_tool_call_output', 'output'],
])

const placeOf = ({ type }: Fields): 'content' | 'output' | undefined => PLACES.get(type ?? 'message')

/** The pictures and files of a request, in their order. */
export const partsOf = (body: Body): Part[] =>
  itemsOf(body).flatMap((item, at) => {
    const place = placeOf(item)
    return listOf(place && item[place]).flatMap((fields, index) =>
      fields.type === 'input_image' || fields.type === 'input_file'
        ? [{ fields, path: `input.${at}.${place}.${index}` }]
        : [],
    )
  })

const TEXT = /^data:text\/[^;,]*(;base64)?,/i

/** Whether the data of a file is text: other upstreams get it as words. */
const hasText = ({ fields }: Part): boolean => fields.type === 'input_file' && TEXT.test(String(fields.file_data))

/** The words of a file whose data is text; null of any other. */
export function wordsOfFile({ file_data: data }: Fields): string | null {
  const text = TEXT.exec(String(data))
  if (!text) return null
  const body = String(data).slice(text[0].length)
  return text[1] ? String(Buffer.from(body, 'base64')) : decoded(body)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a part is a file that is no text: what it counts for only its model can say. */
export const isBinary = (part: Part): boolean =>
  part.fields.type === 'input_file' && (isText(part.fields.file_url) || !hasText(part))

/**
 * The input tokens that a part counts for in place of its bytes, a text beside them; null for one that counts by them,
 * or that the model does not price.
 */
export function tokensOf({ fields }: Part, { partTokens }: CountingRules): number | null {
  if (fields.type === 'input_image') return tokensOfPart('image_url', partTokens)
  return partTokens !== undefined && Object.hasOwn(partTokens, 'document') ? partTokens.document! : null
}

/** The input tokens of all parts of a request that do not count by their bytes. */
export const partTokens = (body: Body, rules: CountingRules): number =>
  partsOf(body).reduce((sum, part) => sum + (tokensOf(part, rules) ?? 0), 0)

/** The bytes of a request's JSON that do not count as text: of parts with a number of tokens of their own. */
export const uncountedBytes = (body: Body, rules: CountingRules): number =>
  partsOf(body)
    .filter((part) => tokensOf(part, rules) !== null && !hasText(part))
    .map(({ fields }) => fields.image_url ?? fields.file_data)
    .filter((data) => typeof data === 'string')
    .filter((data) => /^data:/i.test(data))
    .reduce((sum, data) => sum + jsonBytes(data), 0)

/** How many bytes of JSON the words of a request's text files have beyond those of their data. */
export const bytesOfWords = (body: Body): number =>
  partsOf(body)
    .filter(hasText)
    .reduce((sum, { fields }) => {
      const [words, data] = [wordsOfFile(fields) ?? '', String(fields.file_data)].map(jsonBytes) as [number, number]
      return sum + Math.max(0, words - data)
    }, 0)

/** The http(s) addresses in a request. */
export const addressesIn = (body: Body): string[] =>
  partsOf(body)
    .flatMap(({ fields }) => [fields.image_url, fields.file_url])
    .filter(isAddress)

/** Whether a request names more than pictures by an address. */
export const namesFiles = (body: Body): boolean => partsOf(body).some(({ fields }) => isText(fields.file_url))

/** A request with other addresses of its pictures: what `change` makes of them, an address or a `data:` URI. */
export function withPictures<B extends Body>(body: B, change: (url: unknown) => unknown): B {
  if (!Array.isArray(body.input)) return body
  const changed = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map((part: Fields) =>
          part.type === 'input_image' ? { ...part, image_url: change(part.image_url) } : part,
        )
      : value
  const input = (body.input as Fields[]).map((item) => {
    const place = placeOf(item)
    return place && place in item ? { ...item, [place]: changed(item[place]) } : item
  })
  return { ...body, input }
}
