/**
 * Speech and transcriptions as code: OpenAI's SDK as it is.
 */
import type { SpeechFields, TranscriptionFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, quoted } from './write.ts'

/** Where the samples of speech write its sound. */
const SOUND = 'speech.mp3'

export const speech: Writers<SpeechFields> = [
  ['curl', (origin, fields) => `${curl(`${origin}${PATHS.speech}`, [BEARER], fields)} \\\n  -o ${SOUND}`],
  [
    'Python',
    (origin, { model, voice, input }) =>
      lines(
        OPENAI.python(origin),
        `answer = client.audio.speech.create(`,
        `    model=${JSON.stringify(model)}, voice=${JSON.stringify(voice)}, input=${JSON.stringify(input)}`,
        ')',
        `answer.write_to_file("${SOUND}")`,
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        `import { writeFile } from 'node:fs/promises'`,
        OPENAI.javaScript(origin),
        `const answer = await client.audio.speech.create(${javaScript(fields)})`,
        `await writeFile('${SOUND}', Buffer.from(await answer.arrayBuffer()))`,
      ),
  ],
]

export const transcriptions: Writers<TranscriptionFields> = [
  [
    'curl',
    (origin, { model, file }) =>
      [
        `curl -s ${origin}${PATHS.transcription}`,
        `-H ${BEARER}`,
        `-F ${quoted(`model=${model}`)}`,
        `-F ${quoted(`file=@${file}`)}`,
      ].join(' \\\n  '),
  ],
  [
    'Python',
    (origin, { model, file }) =>
      lines(
        OPENAI.python(origin),
        `with open(${JSON.stringify(file)}, "rb") as file:`,
        `    answer = client.audio.transcriptions.create(model=${JSON.stringify(model)}, file=file)`,
        'print(answer.text)',
      ),
  ],
  [
    'JavaScript',
    (origin, { model, file }) =>
      lines(
        `import { createReadStream } from 'node:fs'`,
        OPENAI.javaScript(origin),
        `const file = createReadStream(${JSON.stringify(file)})`,
        `const answer = await client.audio.transcriptions.create({ model: ${JSON.stringify(model)}, file })`,
        'console.log(answer.text)',
      ),
  ],
]
