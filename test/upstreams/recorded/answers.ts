/**
 * Answers of upstreams, by names of the form VENDOR-CASE, in answers.txt, and irregular ones in wrong-answers.txt.
 * There a line `=== NAMES KIND OPTIONS` begins an answer: a `stream` or a `whole` one, of status 200 and its usual
 * content type unless the options name others (`-`: none). `gzip`, `crlf` and `latin1` are how it is encoded, `bare`
 * omits the names of its events. A whole answer is a line of JSON. Each line of a stream is the data of an event, or
 * one of WRITTEN; `words` repeats a line for each word of the text (`$`) with its number (`#`).
 */
import { gzipSync } from 'node:zlib'
import { blocksIn } from '../../support/blocks.ts'
import { PIXEL } from '../../support/pixel.ts'

/** What most of them say, and report to have used where it is streamed. */
export const TEXT = 'The quick brown fox jumps over the lazy dog and runs away into the deep green wood.'
const USAGE = '{"prompt_tokens":11,"completion_tokens":17,"total_tokens":28}'
const WORDS = TEXT.split(/(?= )/)

export type Kind = 'stream' | 'whole'

/** An answer, with the bytes of its body. */
export type Answer = { status: number; headers: Record<string, string>; body: Buffer }

const HEAD = '"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1790000000,"model":"up"'
const chunk = (choice: string, more = ''): string => `{${HEAD},"choices":[${choice}]${more}}`

const event = (json: string): string => `event: ${(JSON.parse(json) as { type: string }).type}\ndata: ${json}\n\n`

/** The lines that are not the data of an event. */
const WRITTEN: [RegExp, (...parts: (string | undefined)[]) => string][] = [
  [
    /^words(?: (\d+)-(\d+))?(?: (.+))?$/,
    (first = '1', last = String(WORDS.length), line = 'delta {"content":"$"}') =>
      WORDS.slice(Number(first) - 1, Number(last))
        .map((word, nth) => written(line.replace('$', word).replace('#', String(nth + 1))))
        .join(''),
  ],
  // Of OpenAI's kind.
  [
    /^delta (\{.*?\})(?: finish ("\w+"))?(?: usage (\{.*\}))?$/,
    (delta, reason = 'null', usage = '') =>
      `data: ${chunk(`{"index":0,"delta":${delta},"finish_reason":${reason}}`, usage && `,"usage":${usage}`)}\n\n`,
  ],
  [/^usage (.*)$/, (usage) => `data: ${chunk('', `,"usage":${usage}`)}\n\n`],
  [/^finish$/, () => written('delta {} finish "stop"') + written(`usage ${USAGE}`)],
  // Of Anthropic's kind.
  [/^event (.*)$/, (json = '') => event(json)],
  [
    /^start (.*)$/,
    (usage) =>
      event(
        '{"type":"message_start","message":{"id":"msg_mock","type":"message","role":"assistant","model":"claude-x",' +
          `"content":[],"stop_reason":null,"usage":${usage}}}`,
      ),
  ],
  [
    /^text$/,
    () =>
      event('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}') +
      written('words event {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"$"}}') +
      event('{"type":"content_block_stop","index":0}'),
  ],
  [
    /^stop ("\w+") (.*)$/,
    (reason, usage) =>
      event(`{"type":"message_delta","delta":{"stop_reason":${reason},"stop_sequence":null},"usage":${usage}}`) +
      event('{"type":"message_stop"}'),
  ],
  [/^raw (.*)$/, (text = '') => JSON.parse(text) as string],
]

function written(line: string): string {
  for (const [form, write] of WRITTEN) {
    const found = form.exec(line)
    if (found) return write(...found.slice(1))
  }
  return `data: ${line}\n\n`
}

/** The text of a stream of such lines. */
export const streamOf = (...lines: string[]): string => lines.map(written).join('')

/** A whole answer of OpenAI's kind with the text. */
const said = (usage: string): string =>
  '{"id":"chatcmpl-mock","object":"chat.completion","created":1790000000,"model":"up","choices":[{"index":0,' +
  `"message":{"role":"assistant","content":"${TEXT}"},"finish_reason":"stop"}]${usage && `,"usage":${usage}`}}`

type Entry = { kind: Kind; options: string[]; lines: string[] }

const entries = new Map<string, Entry>()
for (const { head, lines } of ['answers', 'wrong-answers'].flatMap((file) =>
  blocksIn(`test/upstreams/recorded/${file}.txt`),
)) {
  const [, names = '', kind, options = ''] = /^(.*?) (stream|whole)(.*)$/.exec(head)!
  for (const name of names.split(' '))
    entries.set(`${name} ${kind}`, { kind: kind as Kind, options: options.trim().split(' '), lines })
}

/** The names of the answers that have such a name and kind. */
export const namesLike = (form: RegExp): string[] =>
  [...entries.keys()].filter((name) => form.test(name)).map((name) => name.split(' ')[0]!)

const TYPES: Record<Kind, string> = { stream: 'text/event-stream', whole: 'application/json' }

/**
 * The answer of this name, of this kind or else the one that there is. `fields` are put for `{{…}}` in it.
 * @throws if there is none
 */
export function answerOf(name: string, preferred: Kind, fields: Record<string, string> = {}): Answer {
  const other = preferred === 'stream' ? 'whole' : 'stream'
  const entry = entries.get(`${name} ${preferred}`) ?? entries.get(`${name} ${other}`)
  if (!entry) throw new Error(`there is no answer ${name}`)
  const { kind, options } = entry
  const is = (option: string): boolean => options.includes(option)
  const lines = entry.lines.map((line) =>
    line
      .replaceAll('$usage', USAGE)
      .replaceAll('$text', TEXT)
      .replaceAll('$pixel', PIXEL)
      .replaceAll(/\{\{(\w+)\}\}/g, (_all, field: string) => fields[field]!),
  )
  let text = kind === 'whole' ? lines.join('\n').replace(/^said ?(.*)$/, (_all, usage: string) => said(usage)) : ''
  if (kind === 'stream') text = streamOf(...lines)
  if (is('bare')) text = text.replaceAll(/^event: .*\n/gm, '')
  if (is('crlf')) text = text.replaceAll('\n', '\r\n')
  const bytes = Buffer.from(text, is('latin1') ? 'latin1' : 'utf8')
  const type = options.find((option) => option.includes('/')) ?? (is('-') ? undefined : TYPES[kind])
  return {
    status: Number(options.find((option) => /^\d+$/.test(option)) ?? 200),
    headers: { ...(type && { 'content-type': type }), ...(is('gzip') && { 'content-encoding': 'gzip' }) },
    body: is('gzip') ? gzipSync(bytes) : bytes,
  }
}
