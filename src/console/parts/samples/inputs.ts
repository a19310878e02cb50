/**
 * Embeddings and moderations as code: OpenAI's SDK as it is.
 */
import type { InputFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines } from './write.ts'

/** @param create what of the client makes them. @param shown what of the answer is printed */
const writersOf = (path: string, create: string, shown: string): Writers<InputFields> => [
  ['curl', (origin, fields) => curl(`${origin}${path}`, [BEARER], fields)],
  [
    'Python',
    (origin, { model, input }) =>
      lines(
        OPENAI.python(origin),
        `answer = client.${create}(model=${JSON.stringify(model)}, input=${JSON.stringify(input)})`,
        `print(answer.${shown})`,
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.${create}(${javaScript(fields)})`,
        `console.log(answer.${shown})`,
      ),
  ],
]

/** Vectors in each language. */
export const embeddings = writersOf(PATHS.embedding, 'embeddings.create', 'data[0].embedding')

/** A moderation in each language. */
export const moderations = writersOf(PATHS.moderation, 'moderations.create', 'results[0].flagged')
