/**
 * A chat as code, by OpenAI's Responses API: with curl, or OpenAI's SDK.
 */
import type { ChatFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

/** A chat in the form of Responses, of which only the answer is used. */
function responseOf({ model, messages, max_tokens: limit, temperature }: ChatFields) {
  const instructions = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : []))
  const input = messages.filter(({ role }) => role !== 'system')
  return {
    model,
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    input: input.length === 1 ? input[0]!.content : input,
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...(temperature !== undefined && { temperature }),
    store: false,
  }
}

export const responses: Writers<ChatFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.responses}`, [BEARER], responseOf(fields))],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.responses.create(**${python(responseOf(fields))})`,
        'print(answer.output_text)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.responses.create(${javaScript(responseOf(fields))})`,
        'console.log(answer.output_text)',
      ),
  ],
]
