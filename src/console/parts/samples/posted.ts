/**
 * Images and rankings as code: OpenAI's SDK has no rankings, and does not know all fields of images. Its `post` sends
 * any request.
 */
import type { MediaFields, RerankFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

/** @param shown what is printed of the answer */
const writersOf = <Fields extends MediaFields | RerankFields>(
  path: string,
  shown: { python: string; javaScript: string },
): Writers<Fields> => [
  ['curl', (origin, fields) => curl(`${origin}${path}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.post("${path.slice(3)}", body=${python(fields)}, cast_to=object)`,
        `print(${shown.python})`,
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.post('${path.slice(3)}', {`,
        `  body: ${javaScript(fields).replaceAll('\n', '\n  ')},`,
        '})',
        `console.log(${shown.javaScript})`,
      ),
  ],
]

/** A picture in each language. */
export const images = writersOf<MediaFields>(PATHS.image, {
  python: '*(one["url"] for one in answer["data"])',
  javaScript: '...answer.data.map(({ url }) => url)',
})

/** A ranking in each language. */
export const rankings = writersOf<RerankFields>(PATHS.rerank, {
  python: 'answer["results"]',
  javaScript: 'answer.results',
})
