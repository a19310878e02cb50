/**
 * What compatible servers do otherwise than the protocol that they speak, each on request: `[quirk NAME]`. A client, or
 * a gateway, that reads them all is ready for most upstreams.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { asFields } from '../wire.ts'
import type { Fields } from '../wire.ts'

const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }

/**
 * One deviation. Of streams: their chunks of OpenAI's kind, the text of their events, their label. Of whole answers:
 * the answer of OpenAI's kind, its label. `coding`: the body of either is compressed, and sent at once. `always`: what
 * is sent in any case.
 */
interface Quirk {
  readonly meaning: string
  readonly chunk?: (chunk: Fields) => Fields
  readonly text?: (text: string, at: number) => string
  readonly streamType?: string
  readonly answer?: (answer: Fields) => Fields
  readonly answerType?: string
  readonly coding?: keyof typeof CODINGS
  readonly always?: 'stream' | 'whole'
}

type Delta = Record<string, unknown>

const withDelta =
  (change: (delta: Delta) => Delta) =>
  (chunk: Fields): Fields => ({
    ...chunk,
    choices: (Array.isArray(chunk['choices']) ? chunk['choices'] : []).map((choice) => ({
      ...asFields(choice),
      delta: change(asFields(asFields(choice)['delta'])),
    })),
  })

/** Answers without choices, such as images, stay as they are. */
const withChoices =
  (change: (choice: Fields) => Fields) =>
  (answer: Fields): Fields =>
    Array.isArray(answer['choices'])
      ? { ...answer, choices: answer['choices'].map((choice) => change(asFields(choice))) }
      : answer

const withMessage =
  (change: (message: Fields) => Fields) =>
  (answer: Fields): Fields =>
    withChoices((choice) => ({ ...choice, message: change(asFields(choice['message'])) }))(answer)

const withPieces = (change: (piece: Fields, isFirst: boolean) => Fields) =>
  withDelta(({ tool_calls: calls, ...delta }) =>
    Array.isArray(calls)
      ? { ...delta, tool_calls: calls.map((call) => change(asFields(call), asFields(call)['id'] !== undefined)) }
      : delta,
  )

const behindFirst =
  (more: string) =>
  (text: string, at: number): string =>
    at === 0 ? `${text}${more}` : text

const without =
  (...names: string[]) =>
  (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

const ENGINE_DEAD = { object: 'error', message: 'the engine is dead', code: 500 }

const withEmptyError = (fields: Fields): Fields => ({
  ...fields,
  error: { message: '', type: '', param: '', code: null },
})

function withParsedArguments(call: unknown): Fields {
  const { function: called, ...rest } = asFields(call)
  const { arguments: args, ...named } = asFields(called)
  return { ...rest, function: { ...named, arguments: JSON.parse(String(args)) as unknown } }
}

/** Every quirk, by its name. */
export const QUIRKS: Readonly<Record<string, Quirk>> = {
  'keep-alive': { meaning: 'a word as data between the chunks', text: behindFirst('data: keep-alive\n\n') },
  'empty-data': { meaning: 'events without data', text: behindFirst('data:\n\ndata: \n\n') },
  'done-space': { meaning: 'white space behind [DONE]', text: (text) => text.replace('[DONE]', '[DONE] \t') },
  'one-line-feed': {
    meaning: 'one line feed between the first two events',
    text: (text, at) => (at === 0 ? text.slice(0, -1) : text),
  },
  'broken-event': { meaning: 'an event that breaks off', text: behindFirst('data: {"choices":[{"del\n\n') },
  'json-label': { meaning: 'a stream that is labelled as JSON', streamType: 'application/json' },
  'no-ids': {
    meaning: 'no id, time, object, index and role',
    chunk: (chunk) => {
      const bare = without('id', 'created', 'object')(withDelta(without('role'))(chunk))
      const choices = Array.isArray(bare['choices']) ? bare['choices'] : []
      return { ...bare, choices: choices.map((choice) => without('index')(asFields(choice))) }
    },
    answer: (answer) =>
      without('id', 'created', 'object')(withChoices(without('index'))(withMessage(without('role'))(answer))),
  },
  'text-parts': {
    meaning: 'content as lists of parts',
    chunk: withDelta(({ content, ...delta }) =>
      typeof content === 'string' ? { ...delta, content: [{ type: 'text', text: content }] } : delta,
    ),
    answer: withMessage((message) =>
      typeof message['content'] === 'string'
        ? { ...message, content: [{ type: 'text', text: message['content'] }] }
        : message,
    ),
  },
  'tools-empty-id': {
    meaning: 'an empty id, type and name in the later pieces of a call',
    chunk: withPieces((piece, isFirst) =>
      isFirst ? piece : { ...piece, id: '', type: '', function: { ...asFields(piece['function']), name: '' } },
    ),
  },
  'tools-no-index': { meaning: 'pieces of calls without a number', chunk: withPieces(without('index')) },
  'arguments-object': {
    meaning: 'the arguments of calls as an object',
    answer: withMessage(({ tool_calls: calls, ...message }) =>
      Array.isArray(calls) ? { ...message, tool_calls: calls.map(withParsedArguments) } : message,
    ),
  },
  'tools-null-content': {
    meaning: 'empty lists and nulls where the answer has nothing',
    answer: withMessage((message) => ({ tool_calls: [], function_call: null, reasoning_content: null, ...message })),
  },
  'empty-error': {
    meaning: 'an error without a word beside the answer, or in every chunk',
    chunk: withEmptyError,
    answer: withEmptyError,
  },
  'error-event': {
    meaning: 'an event named error with a code and a message, and the end',
    text: behindFirst('event: error\ndata: {"code":"InternalError","message":"something broke"}\n\n'),
  },
  'error-object': {
    meaning: 'an object that is an error, under status 200',
    text: behindFirst(`data: ${JSON.stringify(ENGINE_DEAD)}\n\n`),
    answer: () => ENGINE_DEAD,
  },
  'error-finish': {
    meaning: 'a reason to finish that is an error',
    chunk: (chunk) => ({
      ...chunk,
      choices: (Array.isArray(chunk['choices']) ? chunk['choices'] : []).map((choice) => {
        const { finish_reason: reason } = asFields(choice)
        return { ...asFields(choice), finish_reason: reason === null ? null : 'error' }
      }),
    }),
    answer: withChoices((choice) => ({ ...choice, finish_reason: 'error' })),
  },
  'stream-label': { meaning: 'a whole answer that is labelled as a stream', answerType: 'text/event-stream' },
  'always-stream': { meaning: 'a stream, though a whole answer was asked for', always: 'stream' },
  'never-stream': { meaning: 'a whole answer, though a stream was asked for', always: 'whole' },
  gzip: { meaning: 'the body compressed, whatever the client accepts', coding: 'gzip' },
  deflate: { meaning: 'the same in another coding', coding: 'deflate' },
  br: { meaning: 'the same in another coding', coding: 'br' },
}

/** The name of a quirk; undefined for an unknown one. */
export const quirkNamed = (name: string): string | undefined => (Object.hasOwn(QUIRKS, name) ? name : undefined)

/** Whether a quirk can be seen where a stream, or a whole answer, was asked for. */
export function isOf(name: string, what: 'stream' | 'answer'): boolean {
  const { chunk, text, streamType, answer, answerType, coding, always } = QUIRKS[name]!
  if (coding) return true
  if (always) return (always === 'stream') === (what === 'answer')
  return what === 'stream' ? Boolean(chunk ?? text ?? streamType) : Boolean(answer ?? answerType)
}

/** Whether a chat is streamed to a client that asked for that or not. */
export function isStreamed(asked: boolean, name: string | undefined): boolean {
  const always = name === undefined ? undefined : QUIRKS[name]!.always
  return always === undefined ? asked : always === 'stream'
}

/** The headers that a server with this quirk sends in place of its own. */
export function headersOf(name: string, what: 'stream' | 'answer'): Record<string, string> {
  const { streamType, answerType, coding } = QUIRKS[name]!
  const contentType = what === 'stream' ? streamType : answerType
  return { ...(contentType && { 'content-type': contentType }), ...(coding && { 'content-encoding': coding }) }
}

/** How a server with this quirk compresses its bodies; undefined where it does not. */
export function compressorOf(name: string): ((text: string) => Buffer) | undefined {
  const { coding } = QUIRKS[name]!
  return coding && ((text) => CODINGS[coding](text))
}

/** A whole answer as a server with this quirk sends it. */
export const quirkedAnswer = (answer: unknown, name: string): unknown => {
  const { answer: change } = QUIRKS[name]!
  return change ? change(asFields(answer)) : answer
}

/** The events as a server with this quirk sends them. */
export function* quirked<E extends { text: string }>(events: Iterable<E>, name: string): Generator<E> {
  const { chunk = (fields: Fields) => fields, text: change = (text: string) => text } = QUIRKS[name]!
  let at = 0
  for (const event of events) {
    const data = /^data: (\{.*\})\n\n$/s.exec(event.text)?.[1]
    const sent = data === undefined ? event.text : `data: ${JSON.stringify(chunk(asFields(JSON.parse(data))))}\n\n`
    yield { ...event, text: change(sent, at) }
    at += 1
  }
}
