/**
 * What compatible servers do otherwise than the protocol that they speak, each on request: `[quirk NAME]`. A client, or
 * a gateway, that reads them all is ready for most upstreams.
 */
import { asFields } from '../wire.ts'
import type { Fields } from '../wire.ts'

/** One deviation of a stream: of its chunks of OpenAI's kind, of the text of its events, of its label. */
interface Quirk {
  readonly meaning: string
  readonly chunk?: (chunk: Fields) => Fields
  readonly text?: (text: string, at: number) => string
  readonly contentType?: string
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
  'json-label': { meaning: 'a stream that is labelled as JSON', contentType: 'application/json' },
  'no-ids': {
    meaning: 'chunks without id, time, object, index and role',
    chunk: (chunk) => {
      const bare = without('id', 'created', 'object')(withDelta(without('role'))(chunk))
      const choices = Array.isArray(bare['choices']) ? bare['choices'] : []
      return { ...bare, choices: choices.map((choice) => without('index')(asFields(choice))) }
    },
  },
  'text-parts': {
    meaning: 'content as lists of parts',
    chunk: withDelta(({ content, ...delta }) =>
      typeof content === 'string' ? { ...delta, content: [{ type: 'text', text: content }] } : delta,
    ),
  },
  'tools-empty-id': {
    meaning: 'an empty id, type and name in the later pieces of a call',
    chunk: withPieces((piece, isFirst) =>
      isFirst ? piece : { ...piece, id: '', type: '', function: { ...asFields(piece['function']), name: '' } },
    ),
  },
  'tools-no-index': { meaning: 'pieces of calls without a number', chunk: withPieces(without('index')) },
  'empty-error': {
    meaning: 'an error without a word in every chunk',
    chunk: (chunk) => ({ ...chunk, error: { message: '', type: '', param: '', code: null } }),
  },
  'error-event': {
    meaning: 'an event named error with a code and a message, and the end',
    text: behindFirst('event: error\ndata: {"code":"InternalError","message":"something broke"}\n\n'),
  },
  'error-object': {
    meaning: 'an object that is an error, and the end',
    text: behindFirst('data: {"object":"error","message":"the engine is dead","code":500}\n\n'),
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
  },
}

/** The name of a quirk; undefined where there is none. */
export const quirkNamed = (name: string): string | undefined => (Object.hasOwn(QUIRKS, name) ? name : undefined)

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
