/**
 * The items of a request of the Responses API, and the pictures and files in them: in messages, and in what tools
 * answered.
 */
import { asFields, asList, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { jsonBytes } from '../../platform/json-bytes.ts'
import { wordsIn } from '../documents.ts'
import type { Part } from '../parts.ts'

type Body = { input?: unknown; tools?: unknown }

/** The items of a request: an input that is a text is a message of the user. */
export const itemsOf = ({ input }: Body): Fields[] =>
  Array.isArray(input) ? input.map(asFields) : [{ type: 'message', role: 'user', content: input }]

/** The items that bring tools: those that a client adds, and what its search for tools has found. */
const BRING_TOOLS: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output'])

/** The tools of a request, with those among its items. */
export const toolsOf = (body: Body): Fields[] => [
  ...listOf(body.tools),
  ...itemsOf(body).flatMap(({ type, tools }) => (BRING_TOOLS.has(type) ? listOf(tools) : [])),
]

/** The parts and tools of all items: counted before any of them is checked. */
export const partCount = ({ input }: Body): number =>
  listOf(input)
    .flatMap(({ content, output, summary, tools }) => [content, output, summary, tools])
    .reduce<number>((sum, list) => sum + asList(list).length, 0)

/** The field that has the parts of an item, by its type. Only their vendor knows the form of others. */
const PLACES: ReadonlyMap<unknown, 'content' | 'output'> = new Map([
  ['message', 'content'],
  ['function_call_output', 'output'],
  ['custom_tool_call_output', 'output'],
])

const placeOf = ({ type }: Fields): 'content' | 'output' | undefined => PLACES.get(type ?? 'message')

/** Whether the data of a file is text: other upstreams get it as words. */
const hasText = ({ type, file_data: data }: Fields): boolean => type === 'input_file' && wordsIn(String(data)) !== null

const inlineOf = (data: unknown): string | null => (typeof data === 'string' && /^data:/i.test(data) ? data : null)

/** The pictures and files of a request as they are in it, in their order, with their paths. */
const filesOf = (body: Body): [fields: Fields, path: string][] =>
  itemsOf(body).flatMap((item, at) => {
    const place = placeOf(item)
    return listOf(place && item[place]).flatMap((fields, index): [Fields, string][] =>
      fields.type === 'input_image' || fields.type === 'input_file' ? [[fields, `input.${at}.${place}.${index}`]] : [],
    )
  })

/** The pictures and documents of a request, in their order. */
export const partsOf = (body: Body): Part[] =>
  filesOf(body).map(([fields, path]): Part => {
    const { type, image_url: image, file_url: url, file_data: data } = fields
    if (type === 'input_image')
      return { kind: 'image', path, urlPath: `${path}.image_url`, url: String(image), data: inlineOf(image) }
    const address = isText(url) ? url : null
    const isWords = hasText(fields)
    return {
      kind: 'document',
      path,
      urlPath: `${path}.file_url`,
      url: address,
      data: isWords ? null : inlineOf(data),
      isText: isWords && address === null,
    }
  })

/** How many bytes of JSON the words of a request's text files have beyond those of their data. */
export const bytesOfWords = (body: Body): number =>
  filesOf(body)
    .filter(([fields]) => hasText(fields))
    .reduce((sum, [fields]) => {
      const [words, data] = [wordsIn(String(fields.file_data)) ?? '', String(fields.file_data)].map(jsonBytes) as [
        number,
        number,
      ]
      return sum + Math.max(0, words - data)
    }, 0)

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
