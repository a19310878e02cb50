/**
 * A moderation as code: OpenAI's SDK as it is.
 */
import type { InputFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines } from './write.ts'

export const moderations: Writers<InputFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.moderation}`, [BEARER], fields)],
  [
    'Python',
    (origin, { model, input }) =>
      lines(
        OPENAI.python(origin),
        `answer = client.moderations.create(model=${JSON.stringify(model)}, input=${JSON.stringify(input)})`,
        'print(answer.results[0].flagged)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.moderations.create(${javaScript(fields)})`,
        'console.log(answer.results[0].flagged)',
      ),
  ],
]
