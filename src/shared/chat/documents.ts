/** Files in a request: those that are texts become words, and the others are documents. Pure. */
import { isUtf8 } from 'node:buffer'
import type { Block } from './canonical.ts'

/** A file as a dialect names it. `data`: a `data:` URI. `context`: what its client adds about it. */
export type NamedFile = {
  at: string
  data?: string | undefined
  url?: string | undefined
  name?: string | undefined
  context?: string | undefined
  cacheMark?: true
}

/** The blocks of a file: its words, if it is a text, or a document behind what is known about it. */
export function fileBlocks({ at, data, url, name, context, ...mark }: NamedFile): Block[] {
  const words = data === undefined ? null : wordsIn(data)
  const uri = data === undefined ? '' : dataUri(data)
  if (words !== null) return [{ kind: 'text', text: [name, context, words].filter(Boolean).join('\n'), ...mark }]
  const about: Block[] = context === undefined ? [] : [{ kind: 'text', text: context }]
  return [...about, { kind: 'document', url: url ?? uri, at, ...(name !== undefined && { name }), ...mark }]
}

/** The data of a file as a URI: some clients send base64 alone. */
const dataUri = (data: string): string => {
  const uri = /^data:/i.test(data) ? data : `data:application/octet-stream;base64,${data}`
  // What every PDF begins with, whatever its client calls it.
  return uri.replace(/^data:[^,]{0,100};base64,(?=JVBERi)/i, `data:${FILE_TYPES.pdf};base64,`)
}

const TEXT = /^data:text\/[^;,]*(?:;(?!base64)[^;,]*)*(;base64)?,/i

/** The words of a file whose data is text; null of any other, and of one whose bytes are not UTF-8. */
export function wordsIn(data: string): string | null {
  const text = TEXT.exec(data)
  if (!text) return null
  const body = data.slice(text[0].length)
  if (!text[1]) return decoded(body)
  const bytes = Buffer.from(body, 'base64')
  return isUtf8(bytes) ? String(bytes) : null
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const TYPE = /^data:([^;,]{0,100})/i

/** The type of the data of a document, in small letters; an empty one of an address. */
export const typeOfData = (url: string): string => TYPE.exec(url)?.[1]?.toLowerCase() ?? ''

/** Whether a document is fetched by the upstream. */
export const isByAddress = (url: string): boolean => !/^data:/i.test(url)

/** The name of a document as a file. Upstreams know a PDF by the end of its name. */
export function fileNameOf({ url, name = 'document' }: { url: string; name?: string }): string {
  const isPdf = isByAddress(url) || typeOfData(url) === FILE_TYPES.pdf
  return isPdf && !/\.pdf$/i.test(name) ? `${name}.pdf` : name
}

/** The types of documents that protocols name. */
export const FILE_TYPES = { pdf: 'application/pdf' } as const
