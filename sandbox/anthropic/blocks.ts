import { looksLikeImage } from '../media/kinds.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './refusals.ts'
import { isRedactedThought, isSignatureOf } from './signatures.ts'
import { ALPHABET } from './tools.ts'

/** The kinds of blocks that each role can have. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'document', 'search_result', 'tool_result'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
  system: ['text', 'tool_addition', 'tool_removal'],
}
const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * One block of a turn.
 * @throws {Refusal} 400 for kinds that the role cannot have, texts of white space, ids of another alphabet, thoughts
 *   that the sandbox did not think, and images that are none
 */
export function checkBlock(block: Fields, where: string, role: string): void {
  const kinds = KINDS[role]!
  const { type } = block
  if (!kinds.includes(asText(type))) {
    const tags = kinds.map((kind) => `'${kind}'`).join(', ')
    throw invalid(
      `${where}: Input tag '${asText(type)}' found using 'type' does not match any of the expected tags: ${tags}`,
    )
  }
  switch (type) {
    case 'text':
      return checkText(block, where)
    case 'image':
      return checkImage(asFields(block['source']), `${where}.source`)
    case 'tool_use':
      return checkId(block['id'], `${where}.tool_use.id`)
    case 'tool_result':
      return checkId(block['tool_use_id'], `${where}.tool_result.tool_use_id`)
    case 'thinking':
    case 'redacted_thinking':
      return checkThought(block, where)
  }
}

function checkText({ text }: Fields, where: string): void {
  if (asText(text).trim() === '') throw invalid(`${where}: text content blocks must contain non-whitespace text`)
}

function checkId(id: unknown, where: string): void {
  if (!ALPHABET.test(asText(id))) throw invalid(`${where}: String should match pattern '${ALPHABET.source}'`)
}

function checkThought({ type, thinking, signature, data }: Fields, where: string): void {
  if (type === 'redacted_thinking') {
    if (!isRedactedThought(asText(data))) throw invalid(`${where}: Invalid \`data\` in \`redacted_thinking\` block`)
    return
  }
  if (typeof signature !== 'string') throw invalid(`${where}.thinking.signature: Field required`)
  if (!isSignatureOf(asText(thinking), signature)) {
    throw invalid(`${where}: Invalid \`signature\` in \`thinking\` block`)
  }
}

function checkImage(source: Fields, where: string): void {
  if (source['type'] === 'url' && /^https?:\/\//.test(asText(source['url']))) return
  if (source['type'] !== 'base64') throw invalid(`${where}: must be of type base64 or url`)
  if (!MEDIA_TYPES.includes(asText(source['media_type']))) throw invalid(`${where}.media_type: not supported`)
  if (!looksLikeImage(Buffer.from(asText(source['data']), 'base64'))) throw invalid(`${where}: could not process image`)
}
