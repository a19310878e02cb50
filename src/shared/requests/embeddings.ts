/** What a request for embeddings asks for, and how its input is counted. Pure. */
import { BYTES_PER_TOKEN } from '../terms/pricing.ts'

/** A text, a list of texts, a text as tokens, or a list of such. */
export type EmbeddingInput = string | string[] | number[] | number[][]

/** What is put into vectors. Sent on but for `encoding_format`: it states in which form its client wants the answer. */
export type EmbeddingRequest = {
  input: EmbeddingInput
  encoding_format: 'float' | 'base64'
  dimensions?: number
  user?: string
}

/** The most texts of a request: as OpenAI has it. */
export const MAX_INPUTS = 2048

/** The most tokens that lists of tokens have together. */
const MAX_LISTED_TOKENS = 500_000

/** The largest number that a token may be. */
const MAX_TOKEN = 2 ** 31 - 1

/** The longest answer, in bytes. */
export const MAX_EMBEDDINGS_BYTES = 40_000_000

/** The numbers of a vector if neither its request nor its model states them. */
const USUAL_DIMENSIONS = 3072

/** The most bytes that a number up to 1 takes in an answer: `-0.00000123456789,` as text. */
const NUMBER_BYTES = { float: 18, base64: 16 / 3 } as const

/** What surrounds a vector in an answer, in bytes. */
const AROUND_BYTES = 64

const isToken = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKEN

/** What is wrong with an input; null if that is nothing. A list is checked up to its first fault. */
export function inputFault(input: unknown): string | null {
  if (typeof input === 'string') return input === '' ? 'must not be empty' : null
  if (!Array.isArray(input)) return 'must be a text, a list of texts, a list of tokens or a list of lists of tokens'
  if (input.length === 0) return 'must not be empty'
  const [first] = input as unknown[]
  if (typeof first === 'number') return tokensFault([input])
  if (input.length > MAX_INPUTS) return `must be at most ${MAX_INPUTS} texts`
  if (typeof first !== 'string') return tokensFault(input)
  if (!input.every((text) => typeof text === 'string')) return 'must be a list of texts alone'
  return input.includes('') ? 'must not have an empty text' : null
}

function tokensFault(lists: unknown[]): string | null {
  let tokens = 0
  for (const list of lists) {
    if (!Array.isArray(list)) return 'must be a list of texts, of tokens or of lists of tokens'
    if (list.length === 0) return 'must not have an empty list'
    tokens += list.length
    if (tokens > MAX_LISTED_TOKENS) return `must be at most ${MAX_LISTED_TOKENS} tokens`
    if (!list.every(isToken)) return 'must have tokens that are whole numbers'
  }
  return null
}

/** The texts and lists of tokens of an input, each of which gets a vector. */
export const partsOf = (input: EmbeddingInput): readonly (string | number[])[] =>
  typeof input === 'string' ? [input] : typeof input[0] === 'number' ? [input as number[]] : (input as string[])

const sumOf = (input: EmbeddingInput, count: (part: string | number[]) => number): number =>
  partsOf(input).reduce((sum, part) => sum + count(part), 0)

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)

/** The tokens that an input is charged for: those listed, and of a text one for three bytes of UTF-8, at least one. */
export const heldTokens = (input: EmbeddingInput): number =>
  sumOf(input, (part) => (typeof part === 'string' ? tokensOf(part) : part.length))

/** The most tokens that an input can have: those listed, and of a text three times its charge, which is one a byte. */
export const mostTokens = (input: EmbeddingInput): number =>
  sumOf(input, (part) => (typeof part === 'string' ? BYTES_PER_TOKEN * tokensOf(part) : part.length))

/** How many texts may be asked for at once, so that their vectors fit into an answer. */
export const mostInputs = (
  { encoding_format: format, dimensions }: Pick<EmbeddingRequest, 'encoding_format' | 'dimensions'>,
  maxDimensions = USUAL_DIMENSIONS,
): number =>
  Math.max(1, Math.floor(MAX_EMBEDDINGS_BYTES / ((dimensions ?? maxDimensions) * NUMBER_BYTES[format] + AROUND_BYTES)))
