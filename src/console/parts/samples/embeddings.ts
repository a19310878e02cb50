/**
 * Embeddings as code: OpenAI's SDK as it is.
 */
import type { InputFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines } from './write.ts'

export const embeddings: Writers<InputFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.embedding}`, [BEARER], fields)],
  [
    'Python',
    (origin, { model, input }) =>
      lines(
        OPENAI.python(origin),
        `answer = client.embeddings.create(model=${JSON.stringify(model)}, input=${JSON.stringify(input)})`,
        'print(answer.data[0].embedding)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.embeddings.create(${javaScript(fields)})`,
        'console.log(answer.data[0].embedding)',
      ),
  ],
]
