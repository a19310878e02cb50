/**
 * Chats as most of them are: messages of a role and a text, or parts of text and images, and the options that clients
 * set most. They are looked at by hand, which costs a tenth of a walk through schemas or less. Whatever
 * is not plain is no fault: it is left to the schemas of `chat-fields.ts`, which are the rule.
 * test/shared/calls/plain-chats.test.ts holds both to the same answers.
 */
import type { ChatMessage } from './requests.ts'
import { MAX_TOKENS } from './chat-fields.ts'
import { MAX_ELEMENTS, MAX_MESSAGES, ROLES } from './chat-messages.ts'

const roles: ReadonlySet<unknown> = new Set(ROLES)

/** Valid messages, as their schema would answer them; null where the schema has to look at them. */
export function plainMessages(messages: unknown): ChatMessage[] | null {
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > MAX_MESSAGES) return null
  if (!messages.every(isPlain)) return null
  const parts = (messages as ChatMessage[]).reduce((sum, { content }) => sum + partsIn(content), 0)
  return parts > MAX_ELEMENTS ? null : (messages as ChatMessage[])
}

const partsIn = (content: unknown): number => (Array.isArray(content) ? content.length : 0)

function isPlain(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false
  const { role, content } = message as Partial<ChatMessage>
  const isContent = typeof content === 'string' || (Array.isArray(content) && content.every(isPlainPart))
  return isContent && roles.has(role) && Object.keys(message).length === 2
}

function isPlainPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || Object.keys(part).length !== 2) return false
  const { type, text, image_url: image } = part as Record<string, unknown>
  if (type === 'text') return typeof text === 'string'
  return type === 'image_url' && (typeof image === 'string' || isPlainImage(image))
}

function isPlainImage(image: unknown): boolean {
  if (typeof image !== 'object' || image === null) return false
  return typeof (image as Record<string, unknown>).url === 'string' && Object.keys(image).length === 1
}

type Test = (value: unknown) => boolean

const isBetween =
  (least: number, most: number): Test =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most

const isTokens: Test = (value) => Number.isInteger(value) && isBetween(1, MAX_TOKENS)(value)

const OPTIONS: ReadonlyMap<string, Test> = new Map([
  ['max_tokens', isTokens],
  ['max_completion_tokens', isTokens],
  ['temperature', isBetween(0, 2)],
  ['top_p', isBetween(0, 1)],
  ['stream', (value) => typeof value === 'boolean'],
])

/** Whether an option has a valid value, which its schema would answer as it is; false: the schema has to look at it. */
export const isPlainOption = (name: string, value: unknown): boolean => OPTIONS.get(name)?.(value) ?? false
