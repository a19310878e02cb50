/**
 * An image as code. It has fields that OpenAI's SDK does not know: its `post` sends any.
 */
import type { MediaFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

/** A picture in each language. */
export const images: Writers<MediaFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.image}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.post("${PATHS.image.slice(3)}", body=${python(fields)}, cast_to=object)`,
        'print(*(one["url"] for one in answer["data"]))',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.post('${PATHS.image.slice(3)}', {`,
        `  body: ${javaScript(fields).replaceAll('\n', '\n  ')},`,
        '})',
        'console.log(...answer.data.map(({ url }) => url))',
      ),
  ],
]
