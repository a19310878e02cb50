/** Content of turns: from canonical blocks to parts of the Gemini API, with what its models want back. */
import type { Block, ToolCall, ToolResult, Turn } from '../../../shared/chat/canonical.ts'
import { CALL_SIGNATURE } from '../../../shared/chat/canonical.ts'
import { isByAddress, typeOfData } from '../../../shared/chat/documents.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { UpstreamError } from '../adapter.ts'
import { inputOf } from '../anthropic/blocks.ts'
import { sentName } from './names.ts'
import { needsSignatures, openedSignature, SKIPPED } from './signatures.ts'
import type { Signing } from './signatures.ts'

/** Turns of a user or a model as contents: neighbours of one side are one content. */
export function contentsOf(turns: readonly Turn[], signing: Signing): Fields[] {
  const names = new Map<string, string>()
  const contents: { role: string; parts: Fields[] }[] = []
  for (const { role, blocks } of turns) {
    if (role === 'system') continue
    for (const block of blocks) if (block.kind === 'tool_call') names.set(block.id, sentName(block.name))
    const parts = role === 'assistant' ? modelParts(blocks, signing) : blocks.flatMap((block) => partsOf(block, names))
    if (parts.length === 0) continue
    const side = role === 'assistant' ? 'model' : 'user'
    const last = contents.at(-1)
    if (last?.role === side) last.parts.push(...parts)
    else contents.push({ role: side, parts })
  }
  return contents
}

/** The texts of the system. */
export const systemParts = (turns: readonly Turn[]): Fields[] =>
  turns.filter(({ role }) => role === 'system').flatMap(({ blocks }) => blocks.flatMap((block) => textOf(block)))

const textOf = (block: Block): Fields[] => (block.kind === 'text' && block.text !== '' ? [{ text: block.text }] : [])

function partsOf(block: Block, names: ReadonlyMap<string, string>): Fields[] {
  switch (block.kind) {
    case 'text':
      return textOf(block)
    case 'image':
      return [dataOf(typedPicture(block.url))]
    case 'document':
      return [dataOf(block.url)]
    case 'tool_result':
      return resultParts(block, names)
    case 'special':
      return block.is === 'parts' ? [mediaPart(block.fields)] : []
    case 'reasoning':
    case 'tool_call':
      return []
  }
}

/** A file as its data. An address is sent only by routes that allow it: the model fetches it. */
const dataOf = (url: string): Fields =>
  isByAddress(url)
    ? { fileData: { fileUri: url } }
    : { inlineData: { mimeType: typeOfData(url), data: url.slice(url.indexOf(',') + 1) } }

/** The types of sound that `input_audio` names. */
const SOUNDS: Readonly<Record<string, string>> = { wav: 'audio/wav', mp3: 'audio/mp3' }

/**
 * Sound, and any other data that a part of chat completions holds in the field of its type: `video_url`.
 * @throws UpstreamError `rejected` for a part of another form: it is not omitted
 */
function mediaPart({ type, ...part }: Fields): Fields {
  const { data, format, url } = asFields(part[String(type)])
  if (isText(url)) return dataOf(url)
  if (!isText(data)) throw new UpstreamError('rejected', 'a part of the request has no data that can be sent')
  return { inlineData: { mimeType: SOUNDS[String(format)] ?? `audio/${String(format)}`, data } }
}

/**
 * What a tool answered, under the name that it was called by. Pictures and documents in it are further parts of the
 * user: only the newest models take them within an answer.
 */
function resultParts({ callId, blocks, isError }: ToolResult, names: ReadonlyMap<string, string>): Fields[] {
  const text = blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n')
  const response = isError ? { error: text } : { output: text }
  const files = blocks.filter(({ kind }) => kind !== 'text').flatMap((block) => partsOf(block, names))
  return [{ functionResponse: { id: callId, name: names.get(callId) ?? 'unknown', response } }, ...files]
}

/**
 * A model's answer. Its signatures go back with their calls; where a conversation began elsewhere, the first of those
 * that were made at once has Google's own word for none.
 */
function modelParts(blocks: readonly Block[], signing: Signing): Fields[] {
  const signatures = new Map(
    blocks.flatMap((block) =>
      block.kind === 'reasoning' && block.format === CALL_SIGNATURE
        ? [[block.id, openedSignature(block, signing)] as const]
        : [],
    ),
  )
  const first = blocks.find(({ kind }) => kind === 'tool_call')
  return blocks.flatMap((block): Fields[] => {
    if (block.kind !== 'tool_call') return textOf(block)
    const none = block === first && needsSignatures(signing.model) ? SKIPPED : undefined
    return [callPart(block, signatures.get(block.id) ?? none)]
  })
}

const callPart = ({ id, name, args }: ToolCall, signature: string | undefined): Fields => ({
  functionCall: { id, name: sentName(name), args: inputOf(args) },
  ...(signature !== undefined && { thoughtSignature: signature }),
})
