/**
 * The output of a model in the stored answer of a chat, in any API.
 */
import { t } from '../language/language.ts'
import type { Dialect } from './call-forms.ts'

/** A part of an answer. `tool`: a call that the model wants made, with its arguments as JSON. */
export type AnswerPart = { is: 'text' | 'thinking'; text: string } | { is: 'tool'; name: string; input: string }

type Fields = Record<string, unknown>

const listOf = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter((one): one is Fields => typeof one === 'object' && one !== null) : []

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const json = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))

const READERS: Readonly<Record<Dialect, (answer: Fields) => AnswerPart[]>> = {
  chat: ({ choices }) => listOf(choices).flatMap(({ message }) => listOf([message]).flatMap(inChoice)),
  messages: ({ content }) => listOf(content).map(inBlock),
  responses: ({ output }) => listOf(output).flatMap(inItem),
  gemini: ({ candidates }) => listOf(candidates).flatMap(inCandidate),
}

function inChoice({
  content,
  refusal,
  reasoning_content: thoughts,
  reasoning,
  tool_calls: calls,
}: Fields): AnswerPart[] {
  const texts = Array.isArray(content) ? listOf(content).map(({ text }) => text) : [content]
  return [
    { is: 'thinking', text: textOf(thoughts) || textOf(reasoning) },
    ...[...texts, refusal].map((text) => ({ is: 'text' as const, text: textOf(text) })),
    ...listOf(calls).flatMap(({ function: called, custom }) =>
      listOf([called, custom]).map(({ name, arguments: input, input: text }): AnswerPart => ({
        is: 'tool',
        name: textOf(name),
        input: json(input ?? text),
      })),
    ),
  ]
}

function inBlock({ type, text, thinking, name, input, ...rest }: Fields): AnswerPart {
  if (type === 'text') return { is: 'text', text: textOf(text) }
  if (type === 'thinking') return { is: 'thinking', text: textOf(thinking) }
  if (type === 'redacted_thinking') return { is: 'thinking', text: t.calls.encrypted }
  return { is: 'tool', name: textOf(name) || textOf(type), input: json(input ?? rest) }
}

function inItem({
  type,
  content,
  summary,
  encrypted_content: sealed,
  name,
  input,
  arguments: args,
}: Fields): AnswerPart[] {
  const textsOf = (parts: unknown): string[] =>
    listOf(parts).map(({ text, refusal }) => textOf(text) || textOf(refusal))
  if (type === 'message') return textsOf(content).map((text) => ({ is: 'text', text }))
  if (type !== 'reasoning') return [{ is: 'tool', name: textOf(name) || textOf(type), input: json(input ?? args) }]
  const thoughts = [...textsOf(summary), ...textsOf(content)].join('\n\n')
  return [{ is: 'thinking', text: thoughts || (sealed === undefined ? '' : t.calls.encrypted) }]
}

function inCandidate({ content }: Fields): AnswerPart[] {
  return listOf([content]).flatMap(({ parts }) =>
    listOf(parts).map(({ text, thought, functionCall: call }): AnswerPart => {
      if (!call) return { is: thought === true ? 'thinking' : 'text', text: textOf(text) }
      const { name, args } = call as Fields
      return { is: 'tool', name: textOf(name), input: json(args) }
    }),
  )
}

/** The parts of an answer that are not empty, in their order. */
export const answerParts = (dialect: Dialect, answer: Fields): AnswerPart[] =>
  READERS[dialect](answer).filter((one) => one.is === 'tool' || one.text !== '')
