/**
 * A chat as code, by Anthropic's Messages API: with curl, Anthropic's SDK, or Claude Code.
 */
import type { ChatFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { curl, javaScript, lines, python, quoted } from './write.ts'

/** The limit of output of a chat that has none: Messages requires one. */
const MAX_TOKENS = 1024

/** A chat in the form of Messages, whose temperature ends at 1. */
function messageOf({ model, messages, max_tokens: limit = MAX_TOKENS, temperature }: ChatFields) {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : []))
  return {
    model,
    max_tokens: limit,
    ...(system.length > 0 && { system: system.join('\n\n') }),
    messages: messages.filter(({ role }) => role !== 'system'),
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
  }
}

/** The arguments of Anthropic's SDK for Python. Since its version 1 it has no temperature: only the body has one. */
function argumentsOf(fields: ChatFields) {
  const { temperature, ...known } = messageOf(fields)
  return { ...known, ...(temperature !== undefined && { extra_body: { temperature } }) }
}

const HEADERS = ['"x-api-key: $TOLLGATE_KEY"', `'anthropic-version: 2023-06-01'`]

export const messages: Writers<ChatFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.messages}`, HEADERS, messageOf(fields))],
  [
    'Python',
    (origin, fields) =>
      lines(
        'import os',
        'from anthropic import Anthropic',
        '',
        `client = Anthropic(base_url="${origin}", api_key=os.environ["TOLLGATE_KEY"])`,
        `answer = client.messages.create(**${python(argumentsOf(fields))})`,
        'print("".join(block.text for block in answer.content if block.type == "text"))',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        `import Anthropic from '@anthropic-ai/sdk'`,
        '',
        `const client = new Anthropic({ baseURL: '${origin}', apiKey: process.env.TOLLGATE_KEY })`,
        `const answer = await client.messages.create(${javaScript(messageOf(fields))})`,
        `console.log(answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))`,
      ),
  ],
  [
    'Claude Code',
    (origin, { model }) =>
      lines(
        `export ANTHROPIC_BASE_URL=${origin}`,
        'export ANTHROPIC_AUTH_TOKEN="$TOLLGATE_KEY"',
        `export ANTHROPIC_MODEL=${quoted(model)}`,
        'claude',
      ),
  ],
]
