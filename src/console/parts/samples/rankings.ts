/**
 * A ranking as code. OpenAI's SDK has none: its `post` sends any request.
 */
import type { RerankFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

export const rankings: Writers<RerankFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.rerank}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.post("/rerank", body=${python(fields)}, cast_to=object)`,
        'print(answer["results"])',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.post('/rerank', {`,
        `  body: ${javaScript(fields).replaceAll('\n', '\n  ')},`,
        '})',
        'console.log(answer.results)',
      ),
  ],
]
