/**
 * Answers of vendors, event by event. vendor-streams.txt has one answer as each vendor streams it: a thought, a text
 * and two calls. odd-answers.txt has answers in forms that their vendors' own APIs do not have: a line
 * `=== VENDOR WHY`, the events, and what clients of each dialect get of them in brief.
 */
import type { CHAT_PROTOCOLS, ChatProtocol } from '../../../src/shared/chat/protocols.ts'
import { asFields, isText, listOf } from '../../../src/shared/platform/fields.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { blocksIn } from '../../support/blocks.ts'

/** What the streams of the vendors say. */
export const SAID = {
  text: 'I look at é 你好 😀.',
  calls: [
    { name: 'look', input: { at: 'Rome' } },
    { name: 'look', input: {} },
  ],
}

/** The dialects that upstreams speak. */
export type Spoken = (typeof CHAT_PROTOCOLS)[ChatProtocol]['dialect']

const VENDORS: Record<string, Spoken> = {
  'openai-chat': 'chat',
  'anthropic-messages': 'messages',
  'openai-responses': 'responses',
  'google-gemini': 'gemini',
}

const fieldsIn = (lines: readonly string[]): Fields[] => lines.map((line) => JSON.parse(line) as Fields)
const typed = (type: string) => (event: Fields) => event.type === type

/** Whether nobody can know all of an answer without this event, if these are left. */
const NEEDED: Record<Spoken, (event: Fields, left: Fields[]) => boolean> = {
  chat: ({ choices, usage }) => {
    const { delta, finish_reason: end } = asFields(listOf(choices)[0])
    return !usage && !end && asFields(delta).role === undefined
  },
  messages: (event, left) =>
    event.type === 'content_block_delta' ||
    asFields(event.content_block).type === 'tool_use' ||
    (event.type === 'message_stop' && !left.some(typed('message_delta'))),
  // Pieces of words are told again by the end of their item, but not some of them.
  responses: ({ type, output_index: index }, left) =>
    type === 'response.completed' ||
    (String(type).endsWith('.delta') && left.filter(typed(String(type))).some((one) => one.output_index === index)),
  gemini: ({ candidates }) => candidates !== undefined,
}

/** By the dialect that their vendor speaks. `isNeeded` may depend on which others are left. */
export const VENDOR_STREAMS = Object.fromEntries(
  blocksIn('test/upstreams/recorded/vendor-streams.txt').map(({ head, lines }) => {
    const dialect = VENDORS[head]!
    const end = dialect === 'chat' ? ['[DONE]'] : []
    return [dialect, { events: fieldsIn(lines), end, isNeeded: NEEDED[dialect] }]
  }),
) as Record<Spoken, { events: Fields[]; end: string[]; isNeeded: (event: Fields, left: Fields[]) => boolean }>

/** The first text among these. */
const first = (...values: unknown[]): string => values.find(isText) ?? ''

/** What a client is to know of an answer: each piece of it in a few words, and its end. */
export const BRIEF: Record<Spoken, (whole: Fields) => string[]> = {
  chat: ({ choices }) =>
    listOf(choices).flatMap(({ message, finish_reason: end }) => {
      const { content, reasoning_content: thought, tool_calls: calls } = asFields(message)
      const made = listOf(calls).map((call) => `call ${first(asFields(call.function).arguments)}`)
      return [...[thought, content].filter(isText), ...made, first(end)]
    }),
  messages: ({ content, stop_reason: end }) => [
    ...listOf(content).map(({ text, thinking, input }) => first(text, thinking, `call ${JSON.stringify(input)}`)),
    first(end),
  ],
  responses: ({ output, status, incomplete_details: why }) => [
    ...listOf(output).map(({ type, status: state, arguments: args, content }) => {
      const words = listOf(content).map(({ text, refusal }) => first(text, refusal))
      return `${type === 'function_call' ? `call ${first(args)}` : words.join('|')} ${first(state)}`
    }),
    first(asFields(why).reason, status),
  ],
  gemini: ({ candidates }) =>
    listOf(candidates).flatMap(({ content, finishReason: end }) => [
      ...listOf(asFields(content).parts).map(({ text, functionCall: call }) =>
        call ? `call ${JSON.stringify(asFields(call).args)}` : first(text),
      ),
      first(end),
    ]),
}

/** Odd answers: why, by the dialect of their upstream, their events, and what clients of each dialect get of them. */
export const ODD = blocksIn('test/upstreams/recorded/odd-answers.txt').map(({ head, lines }) => {
  const [vendor = '', why = ''] = head.split(/ (.*)/)
  const events = fieldsIn(lines.filter((line) => line.startsWith('{')))
  const expected = lines.filter((line) => !line.startsWith('{')).map((line) => line.split(/ (.*)/) as [Spoken, string])
  const briefly = expected.map(([dialect, brief]) => [dialect, JSON.parse(brief) as string[]] as const)
  return { why, upstream: VENDORS[vendor]!, events, expected: briefly }
})
