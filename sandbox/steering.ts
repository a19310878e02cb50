/**
 * Steering by the prompt: words in brackets make the sandbox misbehave. The one list of them, `WORDS`, parses
 * prompts, types the result and prints the help.
 */

import { quirkNamed } from './chat/quirks.ts'

/** When a word takes effect. The help is grouped by it. */
export type Group = 'refusal' | 'answer' | 'usage' | 'chat' | 'task' | 'media'

/** One steering word: its syntax, its effect, and how its arguments are read (undefined: malformed). */
export interface Word<T> {
  readonly group: Group
  readonly syntax: string
  readonly meaning: string
  readonly read: (rest: string) => T | undefined
}

/** What `[status …]` asks for; `headers`: when to retry. */
export interface StatusOrder {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** A number of requests, and the HTTP status that they get. */
export interface Repeated {
  readonly times: number
  readonly status: number
}

const flag = (rest: string): true | undefined => (rest === '' ? true : undefined)
const text = (rest: string): string | undefined => rest || undefined
const count = (rest: string): number | undefined => (/^\d{1,9}$/.test(rest) ? Number(rest) : undefined)
const atMost =
  (most: number) =>
  (rest: string): number | undefined =>
    (count(rest) ?? Infinity) <= most ? Number(rest) : undefined
const decimal = (rest: string): number | undefined => (/^\d{1,9}(\.\d{1,6})?$/.test(rest) ? Number(rest) : undefined)

function counts(rest: string): [number, number] | undefined {
  const found = /^(\d{1,16}) +(\d{1,16})$/.exec(rest)
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

function isStatus(status: number): boolean {
  return status >= 300 && status <= 599
}

function repeated(rest: string): Repeated | undefined {
  const [times, status] = counts(rest) ?? []
  return times !== undefined && status !== undefined && isStatus(status) ? { times, status } : undefined
}

function statusOrder(rest: string): StatusOrder | undefined {
  const found = /^(\d{3})(?: +(retry-after|retry-after-ms) +(\d{1,9}))?$/.exec(rest)
  if (!found || !isStatus(Number(found[1]))) return undefined
  return { status: Number(found[1]), headers: found[2] ? { [found[2]]: found[3]! } : {} }
}

function called(rest: string): { name: string; text: string } | undefined {
  const found = /^(\S+)\s+([^]+)$/.exec(rest)
  return found ? { name: found[1]!, text: found[2]! } : undefined
}

function outputForm(rest: string): 'string' | 'array' | 'object' | undefined {
  return rest === 'string' || rest === 'array' || rest === 'object' ? rest : undefined
}

function word<T>(group: Group, syntax: string, meaning: string, read: (rest: string) => T | undefined): Word<T> {
  return { group, syntax, meaning, read }
}

/** Every steering word, by its name. A prompt can have several. */
export const WORDS = {
  status: word(
    'refusal',
    '[status CODE]',
    'this HTTP status; "retry-after S" or "retry-after-ms MS" may follow',
    statusOrder,
  ),
  quota: word(
    'refusal',
    '[quota]',
    "the protocol's own answer for spent credit (openai: 429 insufficient_quota)",
    flag,
  ),
  quote: word('refusal', '[quote]', 'every error quotes the prompt', flag),
  'fail-times': word(
    'refusal',
    '[fail-times N CODE]',
    'the first N requests with exactly this prompt get this status',
    repeated,
  ),
  refuse: word('refusal', '[refuse]', 'reset the connection before anything is recorded', flag),
  fail: word('refusal', '[fail]', 'a task ends as failed; a synchronous call answers 500', flag),

  hold: word('answer', '[hold]', 'answer (a stream: after its first chunk; a task: end) once it is released', flag),
  delay: word('answer', '[delay MS]', 'wait before answering; the work is accepted at once', count),
  hang: word('answer', '[hang]', 'accept, then never send headers', flag),
  'hang-body': word('answer', '[hang-body]', 'accept, send headers, then nothing', flag),
  drip: word('answer', '[drip MS]', 'one byte of the body every so many milliseconds', count),
  reset: word('answer', '[reset]', 'accept, then reset the connection', flag),
  garbage: word('answer', '[garbage]', 'accept, then answer 200 with an HTML page', flag),
  truncated: word('answer', '[truncated]', 'cut the JSON (or the stream) and end the answer as if it were whole', flag),
  empty: word('answer', '[empty]', '200 without choices, images or result; only tasks are billed', flag),
  'invalid-utf8': word('answer', '[invalid-utf8]', 'bytes in the text that are not UTF-8', flag),
  'cut-mid-char': word('answer', '[cut-mid-char]', 'send the bytes of one character in two pieces', flag),
  big: word('answer', '[big MB]', 'so many megabytes of answer (text, image or file)', count),

  usage: word('usage', '[usage IN OUT]', 'report exactly these token counts', counts),
  reasoning: word('usage', '[reasoning N]', 'N more tokens, of reasoning, that only the total counts (openai)', count),
  'no-usage': word('usage', '[no-usage]', 'report no usage', flag),
  'usage-negative': word('usage', '[usage-negative]', 'report negative token counts', flag),
  'usage-huge': word('usage', '[usage-huge]', 'report 9007199254740991 tokens on both sides', flag),

  answer: word('chat', '[answer TEXT]', 'answer with this text', text),
  echo: word('chat', '[echo]', 'answer with the prompt without its steering words', flag),
  tokens: word('chat', '[tokens N]', 'answer with N words; 0: stop at once, and bill the input', count),
  tool: word('chat', '[tool]', "call the first of the request's tools; [tool NAME]: that one", (rest) => rest),
  tools: word('chat', '[tools N]', "call N tools at once: the request's, in turn", atMost(1000)),
  thoughts: word('chat', '[thoughts TEXT]', 'think this first (anthropic: where the request asks for thinking)', text),
  'sealed-thoughts': word('chat', '[sealed-thoughts]', 'think something redacted, too (anthropic)', flag),
  call: word(
    'chat',
    '[call NAME TEXT]',
    'call this tool with this text as its arguments, until its result is there',
    called,
  ),
  refusal: word('chat', '[refusal]', 'the model declines to answer', flag),
  chunks: word('chat', '[chunks N MS]', 'stream the text in N chunks, MS milliseconds apart', counts),
  think: word(
    'chat',
    '[think MS]',
    'after the last word of a stream, think so long before its end and its usage',
    count,
  ),
  quirk: word('chat', '[quirk NAME]', 'answer as some compatible servers do; the names are below', quirkNamed),
  'no-done': word('chat', '[no-done]', 'end the stream without its last event', flag),
  'error-after': word('chat', '[error-after N]', 'an error event after N chunks', count),
  'reset-after': word('chat', '[reset-after N]', 'reset the connection after N chunks', count),
  'hang-after': word('chat', '[hang-after N]', 'fall silent after N chunks', count),

  duration: word('task', '[duration S]', 'how long the task takes, in seconds (fractions too)', decimal),
  stuck: word('task', '[stuck]', 'the task never ends', flag),
  abort: word('task', '[abort]', 'the provider aborts the task (replicate: aborted, openrouter: expired)', flag),
  'weird-status': word('task', '[weird-status]', 'a status that is not documented, then success', flag),
  'poll-errors': word('task', '[poll-errors N CODE]', 'the first N polls get this HTTP status', repeated),
  'not-found-first': word('task', '[not-found-first]', 'the first poll is answered 404', flag),
  output: word(
    'task',
    '[output FORM]',
    'form of the result: string, array or object (replicate; fal: array, object)',
    outputForm,
  ),

  pictures: word('media', '[pictures N]', 'make N pictures, however many were asked for', atMost(20)),
  quality: word(
    'media',
    '[quality NAME]',
    'the quality of pictures where none is asked for, as the answer says it',
    text,
  ),
  'wrong-type': word('media', '[wrong-type]', 'an SVG in place of an image, an HTML page in place of a video', flag),
  'lying-type': word('media', '[lying-type]', 'the same bytes under the content type of real media', flag),
  'broken-image': word('media', '[broken-image]', 'media that begins correctly and cannot be decoded', flag),
  redirect: word(
    'media',
    '[redirect URL]',
    'media with an address redirects there; any other answer redirects itself',
    text,
  ),
  'result-url': word('media', '[result-url URL]', 'give this as the address of the result', text),
  'content-errors': word(
    'media',
    '[content-errors N CODE]',
    'the first N downloads of the media get this status',
    repeated,
  ),
  'content-cut': word('media', '[content-cut]', 'a download resets halfway', flag),
  'content-hang': word('media', '[content-hang]', 'a download falls silent halfway', flag),
} satisfies Record<string, Word<unknown>>

/** A steering word. */
type WordName = keyof typeof WORDS

/** The steering words of a prompt, with what was ordered by each. */
export type Steering = { readonly [K in WordName]?: NonNullable<ReturnType<(typeof WORDS)[K]['read']>> }

/** The steering of a prompt without steering words; compared by identity on the fast path. */
export const UNSTEERED: Steering = Object.freeze({})

/** A steering word whose arguments do not fit its syntax. */
export class MalformedWord extends Error {}

// One level of inner brackets is allowed, for addresses such as [redirect http://[::1]/].
const BRACKETS = /\[([a-z][a-z0-9-]*)(?: +((?:[^[\]]|\[[^[\]]*\])*))?\]/g

/**
 * Reads the steering words of a prompt. Brackets that do not begin with a steering word are ordinary text.
 * @throws {MalformedWord} so that a typo in a test does not pass for success.
 */
export function readSteering(prompt: string): Steering {
  if (!prompt.includes('[')) return UNSTEERED
  const orders: Record<string, unknown> = {}
  let any = false
  for (const [whole, name, rest] of prompt.matchAll(BRACKETS)) {
    if (!Object.hasOwn(WORDS, name!)) continue
    const known: Word<unknown> = WORDS[name as WordName]
    const order = known.read((rest ?? '').trim())
    if (order === undefined) throw new MalformedWord(`${whole.slice(0, 100)} should read ${known.syntax}`)
    orders[name!] = order
    any = true
  }
  return any ? (orders as Steering) : UNSTEERED
}

/** The words of an error about this prompt: `message`, or under `[quote]` the prompt, as some providers do. */
export function worded({ prompt, steering }: { prompt: string; steering: Steering }, message: string): string {
  return steering.quote ? `Invalid value in messages[0].content: '${withoutSteering(prompt)}'` : message
}

/** The prompt without its steering words. */
export function withoutSteering(prompt: string): string {
  const rest = prompt.replaceAll(BRACKETS, (whole, name: string) => (Object.hasOwn(WORDS, name) ? '' : whole))
  return rest.replaceAll(/\s+/g, ' ').trim()
}
