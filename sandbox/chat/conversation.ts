import { asFields, asText } from '../wire.ts'

/** The text of a message's content: a string, or the text parts of an array joined by line breaks. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => asText(asFields(part)['text']))
    .filter(Boolean)
    .join('\n')
}

/** The text of the last message of the user, which is what steers the sandbox; empty without one. */
export function lastUserText(messages: unknown): string {
  if (!Array.isArray(messages)) return ''
  const last = messages.findLast((message) => asFields(message)['role'] === 'user')
  return contentText(asFields(last)['content'])
}

/** What every message counts for in addition to its content. */
export const TOKENS_PER_MESSAGE = 4
/** What an image counts for. */
export const TOKENS_PER_IMAGE = 500

/** Whether a tool has answered since the user spoke. */
export function hasResult(messages: unknown): boolean {
  const said = Array.isArray(messages) ? messages.map(asFields) : []
  const last = said.findLastIndex((message) => message['role'] === 'user')
  return said.slice(last + 1).some(({ role, type }) => role === 'tool' || asText(type).endsWith('_output'))
}

/** A rough count of the tokens of messages: a quarter of their characters, plus some for each message and image. */
export function countInputTokens(messages: readonly unknown[]): number {
  let tokens = 0
  for (const message of messages) {
    const content = asFields(message)['content']
    tokens += TOKENS_PER_MESSAGE + Math.ceil(contentText(content).length / 4)
    if (Array.isArray(content)) tokens += TOKENS_PER_IMAGE * content.filter(isImage).length
  }
  return tokens
}

function isImage(part: unknown): boolean {
  const { type } = asFields(part)
  return type === 'image_url' || type === 'image'
}
