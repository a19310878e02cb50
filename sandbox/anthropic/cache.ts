import { createHash } from 'node:crypto'
import { TOKENS_PER_IMAGE, TOKENS_PER_MESSAGE } from '../chat/conversation.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'

/** Tokens of the input that were read from the cache, and that were written to it. */
export interface CachedInput {
  readonly read: number
  readonly written: number
}

/** A piece of the input, in the order of the API: tools, system, messages. */
interface Piece {
  readonly text: string
  readonly tokens: number
  readonly isMarked: boolean
}

const MAX_REMEMBERED = 10_000

/** The prefixes of requests that were marked with `cache_control`: also short ones, which the API does not cache. */
export class PromptCache {
  private readonly prefixes = new Set<string>()

  /**
   * Takes the prefixes that a request marks. What is behind the last mark is neither read nor written.
   * @param owner whose prefixes they are: others are not read
   */
  take(owner: string, fields: Fields): CachedInput {
    const hash = createHash('sha256').update(owner)
    let [tokens, read, last] = [0, 0, 0]
    const marked: string[] = []
    for (const piece of piecesOf(fields)) {
      tokens += piece.tokens
      const prefix = hash.update(`\n${piece.text}`).copy().digest('base64')
      if (this.prefixes.has(prefix)) read = tokens
      if (!piece.isMarked) continue
      marked.push(prefix)
      last = tokens
    }
    for (const prefix of marked) this.remember(prefix)
    return { read: Math.min(read, last), written: Math.max(0, last - read) }
  }

  private remember(prefix: string): void {
    this.prefixes.add(prefix)
    const [oldest] = this.prefixes
    if (this.prefixes.size > MAX_REMEMBERED) this.prefixes.delete(oldest!)
  }
}

/** The tokens of all input of a request. */
export function inputTokens(fields: Fields): number {
  return piecesOf(fields).reduce((sum, { tokens }) => sum + tokens, 0)
}

function piecesOf({ tools, system, messages, cache_control: mark }: Fields): Piece[] {
  const pieces = [
    ...listOf(tools).map((tool) => pieceOf(tool)),
    ...listOf(system).map((block) => pieceOf(block)),
    ...listOf(messages).flatMap(({ role, content }) =>
      listOf(content).map((block, at) => pieceOf({ role, ...block }, at === 0 ? TOKENS_PER_MESSAGE : 0)),
    ),
  ]
  const last = pieces.pop()
  return last ? [...pieces, { ...last, isMarked: last.isMarked || Boolean(mark) }] : pieces
}

/** Four characters are a token. @param more tokens in addition to those of the piece itself */
function pieceOf({ cache_control: mark, ...fields }: Fields, more = 0): Piece {
  const text = JSON.stringify(fields)
  const words = fields['type'] === 'text' ? asText(fields['text']) : text
  const tokens = fields['type'] === 'image' ? TOKENS_PER_IMAGE : Math.ceil(words.length / 4)
  return { text, tokens: tokens + more, isMarked: Boolean(mark) }
}

/** Blocks, and a text as one. */
function listOf(value: unknown): Fields[] {
  if (typeof value === 'string') return [{ type: 'text', text: value }]
  return Array.isArray(value) ? value.map(asFields) : []
}
