import { looksLikeImage } from '../media/kinds.ts'
import { asFields, asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'

const SAMPLING = ['temperature', 'top_p', 'top_k']
const BLOCK_TYPES = ['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking']
const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** A request that is refused with 400. */
export function invalid(message: string): Refusal {
  return new Refusal({ status: 400, message })
}

/**
 * The messages of a request.
 * @throws {Refusal} 400 for roles and blocks that the Messages API does not know, and for images that are not images.
 */
export function checkMessages(messages: unknown): readonly unknown[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages: at least one message is required')
  for (const [at, message] of messages.entries()) {
    const { role, content } = asFields(message)
    if (role !== 'user' && role !== 'assistant') {
      throw invalid(`messages.${at}.role: Input should be 'user' or 'assistant'`)
    }
    checkContent(content, `messages.${at}.content`)
  }
  if (asFields(messages[0])['role'] !== 'user') throw invalid('messages: first message must use the "user" role')
  checkEnd(asFields(messages.at(-1)))
  return messages
}

function checkEnd({ role, content }: Fields): void {
  const last: unknown = Array.isArray(content) ? asFields(content.at(-1))['text'] : content
  if (role === 'assistant' && /\s$/.test(asText(last))) {
    throw invalid('messages: final assistant content cannot end with trailing whitespace')
  }
}

const ALPHABET = /^[a-zA-Z0-9_-]{1,128}$/

/**
 * The tools of a request.
 * @throws {Refusal} 400 for names of another alphabet, and for schemas that are not of an object.
 */
export function checkTools(tools: unknown): void {
  for (const [at, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const { name, input_schema: schema } = asFields(tool)
    if (!ALPHABET.test(asText(name))) throw invalid(`tools.${at}.name: String should match pattern ${ALPHABET.source}`)
    if (asFields(schema)['type'] !== 'object') throw invalid(`tools.${at}.input_schema.type: Field required`)
  }
}

function checkContent(content: unknown, where: string): void {
  if (typeof content === 'string' && content.trim() !== '') return
  if (!Array.isArray(content) || content.length === 0) throw invalid(`${where}: must be text or a list of blocks`)
  for (const [at, part] of content.entries()) {
    const block = asFields(part)
    if (!BLOCK_TYPES.includes(asText(block['type']))) throw invalid(`${where}.${at}.type: unknown block`)
    if (block['type'] === 'text' && asText(block['text']).trim() === '') {
      throw invalid(`${where}.${at}: text content blocks must contain non-whitespace text`)
    }
    if (block['type'] === 'tool_use' && !ALPHABET.test(asText(block['id']))) {
      throw invalid(`${where}.${at}.id: String should match pattern ${ALPHABET.source}`)
    }
    if (block['type'] === 'thinking' && !asText(block['signature'])) throw invalid(`${where}.${at}.signature: required`)
    if (block['type'] === 'image') checkImage(asFields(block['source']), `${where}.${at}.source`)
  }
}

function checkImage(source: Fields, where: string): void {
  if (source['type'] === 'url' && /^https?:\/\//.test(asText(source['url']))) return
  if (source['type'] !== 'base64') throw invalid(`${where}: must be of type base64 or url`)
  if (!MEDIA_TYPES.includes(asText(source['media_type']))) throw invalid(`${where}.media_type: not supported`)
  if (!looksLikeImage(Buffer.from(asText(source['data']), 'base64'))) throw invalid(`${where}: could not process image`)
}

/**
 * Sampling parameters: a temperature is at most 1, and models with `reasoning` in their name refuse all of them.
 * @throws {Refusal} 400
 */
export function checkSampling(model: string, fields: Fields): void {
  const given = SAMPLING.find((name) => fields[name] !== undefined)
  if (given && model.includes('reasoning')) throw invalid(`${given}: is not supported by this model`)
  const { temperature } = fields
  if (temperature === undefined) return
  if (typeof temperature !== 'number' || temperature < 0 || temperature > 1) {
    throw invalid('temperature: range: 0..1')
  }
}
