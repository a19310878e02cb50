/** The gateway's own count of the output of a chat, used if the upstream reports no usage. Pure. */
import { asFields } from '../platform/fields.ts'

/** The UTF-8 bytes of a text, or of the texts in a part or in a list of parts; of anything else 0. */
function bytesOf(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content)
  if (content === null || content === undefined) return 0
  if (Array.isArray(content)) return content.reduce<number>((sum, part) => sum + bytesOf(part), 0)
  const { text, thinking, summary } = asFields(content)
  return [text, thinking, summary].reduce<number>((sum, words) => sum + (words === undefined ? 0 : bytesOf(words)), 0)
}

const bytesOfCall = (called: unknown): number =>
  bytesOf(asFields(called).name) + bytesOf(asFields(called).arguments) + bytesOf(asFields(called).input)

/**
 * The UTF-8 bytes of a message's words: content, reasoning (upstreams name it once or several times), refusal, calls of
 * tools (some repeat one for older clients).
 */
export function wordBytes(message: unknown): number {
  const {
    content,
    reasoning,
    reasoning_content: thoughts,
    reasoning_details: details,
    thinking,
    refusal,
    tool_calls: calls,
    function_call: called,
  } = asFields(message)
  const ofTools = Array.isArray(calls)
    ? calls.reduce<number>((sum, call) => sum + bytesOfCall(asFields(call).function ?? asFields(call).custom), 0)
    : 0
  return (
    bytesOf(content) +
    Math.max(bytesOf(reasoning), bytesOf(thoughts), bytesOf(details), bytesOf(thinking)) +
    bytesOf(refusal) +
    Math.max(ofTools, bytesOfCall(called))
  )
}

/** The tokens of this many bytes of words, by the rule of the estimate: a third. */
export const tokensOfWords = (bytes: number): number => Math.ceil(bytes / 3)

/** The output tokens of an answer: of its words, not the JSON around them. */
export const countOutput = (choices: readonly unknown[]): number =>
  tokensOfWords(choices.reduce<number>((sum, choice) => sum + wordBytes(asFields(choice).message), 0))
