/**
 * A chat as code, by chat completions: with curl, or OpenAI's SDK.
 */
import type { ChatFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

export const chatCompletions: Writers<ChatFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.chat}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.chat.completions.create(**${python(fields)})`,
        'print(answer.choices[0].message.content)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.chat.completions.create(${javaScript(fields)})`,
        'console.log(answer.choices[0].message.content)',
      ),
  ],
]
