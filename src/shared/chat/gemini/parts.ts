/** The pictures and documents in a request of Gemini's API: in its contents, and in what functions answered. */
import { asFields, isAddress, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { jsonBytes } from '../../platform/json-bytes.ts'
import { wordsIn } from '../documents.ts'
import type { Part } from '../parts.ts'

type Body = { contents?: unknown; systemInstruction?: unknown; tools?: unknown }

/** A part that may have a picture or a document, with its path. */
type Place = { fields: Fields; path: string }

const placesIn = (parts: unknown, path: string): Place[] =>
  listOf(parts).flatMap((fields, at) => {
    const here = `${path}.${at}`
    return [
      { fields, path: here },
      ...placesIn(asFields(fields.functionResponse).parts, `${here}.functionResponse.parts`),
    ]
  })

const placesOf = ({ contents, systemInstruction }: Body): Place[] => [
  ...placesIn(asFields(systemInstruction).parts, 'systemInstruction.parts'),
  ...listOf(contents).flatMap(({ parts }, at) => placesIn(parts, `contents.${at}.parts`)),
]

/** The type of the data of a part, in small letters. */
export const mimeTypeOf = ({ mimeType }: Fields): string => (isText(mimeType) ? mimeType.toLowerCase() : '')

/** Whether data of a type is a picture. */
export const isPicture = (mimeType: string): boolean => mimeType.startsWith('image/')

/** The pictures and documents of a request, in their order. */
export const partsOf = (body: Body): Part[] =>
  placesOf(body).flatMap(({ fields: { inlineData, fileData }, path }): Part[] => {
    if (inlineData) {
      const { data } = asFields(inlineData)
      const mediaType = mimeTypeOf(asFields(inlineData))
      const kind = isPicture(mediaType) ? 'image' : 'document'
      const here = `${path}.inlineData`
      // A text counts by its bytes.
      const isText = mediaType.startsWith('text/')
      return [{ kind, path: here, urlPath: here, url: null, data: isText ? null : String(data), isText, mediaType }]
    }
    if (!fileData) return []
    const { fileUri } = asFields(fileData)
    const kind = isPicture(mimeTypeOf(asFields(fileData))) ? 'image' : 'document'
    return [{ kind, path: `${path}.fileData`, urlPath: `${path}.fileData.fileUri`, url: String(fileUri), data: null }]
  })

/** How many bytes of JSON the words of a request's text files have beyond those of their data. */
export const bytesOfWords = (body: Body): number =>
  placesOf(body)
    .map(({ fields }) => asFields(fields.inlineData))
    .reduce((sum, file) => {
      const words = wordsIn(`data:${mimeTypeOf(file)};base64,${String(file.data)}`)
      return words === null ? sum : sum + Math.max(0, jsonBytes(words) - jsonBytes(String(file.data)))
    }, 0)

/** The parts of all contents, those in results included: counted before any of them is checked. */
export const partCount = (body: Body): number => placesOf(body).length

/** The functions that a request declares. */
export const functionsOf = ({ tools }: Body): Fields[] =>
  listOf(tools).flatMap(({ functionDeclarations: declared }) => listOf(declared))

/** A request with the pictures of other addresses: what `change` makes of these, an address or a `data:` URI. */
export function withPictures<B extends Body>(body: B, change: (url: unknown) => unknown): B {
  const ofParts = (parts: unknown): Fields[] => listOf(parts).map(ofPart)
  const ofPart = (part: Fields): Fields => {
    const { fileData, functionResponse: result } = part
    const file = asFields(fileData)
    if (result) {
      const { parts } = asFields(result)
      return parts ? { ...part, functionResponse: { ...asFields(result), parts: ofParts(parts) } } : part
    }
    if (!isAddress(file.fileUri) || !isPicture(mimeTypeOf(file))) return part
    const { fileData: _file, ...rest } = part
    return { ...rest, ...pictureOf(String(change(file.fileUri)), file) }
  }
  const contents = listOf(body.contents).map((one) => ({ ...one, parts: ofParts(one.parts) }))
  return { ...body, contents }
}

/** A picture as a part has it: the bytes of a `data:` URI, or an address. */
function pictureOf(url: string, file: Fields): Fields {
  const inline = /^data:([^;,]{1,100});base64,/i.exec(url)
  return inline
    ? { inlineData: { mimeType: inline[1]!.toLowerCase(), data: url.slice(inline[0].length) } }
    : { fileData: { ...file, fileUri: url } }
}
