import { TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE } from '../chat/conversation.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'

/** The contents of a request: what is none of them is an empty one. */
export const contentsIn = ({ contents }: Fields): Fields[] => (Array.isArray(contents) ? contents.map(asFields) : [])

/** The parts of a content. */
export const partsIn = ({ parts }: Fields): Fields[] => (Array.isArray(parts) ? parts.map(asFields) : [])

const textIn = (content: Fields): string =>
  partsIn(content)
    .map(({ text }) => asText(text))
    .filter(Boolean)
    .join('\n')

/** The text of the last content of the user that has one, which is what steers the sandbox; of embeddings the first. */
export function promptIn(request: Fields): string {
  const { content, requests } = request
  if (Array.isArray(requests)) return promptIn(asFields(requests[0]))
  if (content !== undefined) return textIn(asFields(content))
  return textIn(contentsIn(request).findLast((one) => one['role'] !== 'model' && textIn(one) !== '') ?? {})
}

/** Whether a function has answered since the user spoke. */
export function hasResult(request: Fields): boolean {
  const contents = contentsIn(request)
  const last = contents.findLastIndex((one) => one['role'] !== 'model' && textIn(one) !== '')
  return contents
    .slice(last + 1)
    .some((one) => partsIn(one).some(({ functionResponse }) => functionResponse !== undefined))
}

/** A rough count of the tokens of contents: a quarter of their characters, plus some for each content and file. */
export function inputTokens(request: Fields): number {
  return contentsIn(request).reduce((sum, content) => {
    const files = partsIn(content).filter(({ inlineData }) => inlineData !== undefined)
    return sum + TOKENS_PER_MESSAGE + Math.ceil(textIn(content).length / 4) + TOKENS_PER_IMAGE * files.length
  }, 0)
}
