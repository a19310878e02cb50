/**
 * An image or a video as code. They have fields that OpenAI's SDK does not know: its `post` sends any.
 */
import type { MediaFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

export const mediaOf = (kind: 'image' | 'video'): Writers<MediaFields> => [
  ['curl', (origin, fields) => curl(`${origin}${PATHS[kind]}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `answer = client.post("${PATHS[kind].slice(3)}", body=${python(fields)}, cast_to=object)`,
        'print(*(one["url"] for one in answer["data"]))',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        OPENAI.javaScript(origin),
        `const answer = await client.post('${PATHS[kind].slice(3)}', {`,
        `  body: ${javaScript(fields).replaceAll('\n', '\n  ')},`,
        '})',
        'console.log(...answer.data.map(({ url }) => url))',
      ),
  ],
]
