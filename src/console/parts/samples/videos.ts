/**
 * A video as code: OpenAI's SDK as it is, which polls until the video has ended.
 */
import type { MediaFields } from '../../api/call-forms.ts'
import { PATHS } from '../../api/call-forms.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'
import type { Writers } from './write.ts'
import { BEARER, OPENAI, curl, javaScript, lines, python } from './write.ts'

/** The fields in OpenAI's names. */
const renamed = ({ duration, resolution, image_url: url, ...fields }: MediaFields): object => ({
  ...fields,
  ...(duration !== undefined && { seconds: String(duration) }),
  ...(resolution !== undefined && { size: sizeOf('video', resolution) }),
  ...(url !== undefined && { input_reference: { image_url: url } }),
})

/** A video in each language. */
export const videos: Writers<MediaFields> = [
  ['curl', (origin, fields) => curl(`${origin}${PATHS.video}`, [BEARER], fields)],
  [
    'Python',
    (origin, fields) =>
      lines(
        OPENAI.python(origin),
        `video = client.videos.create_and_poll(**${python(renamed(fields))})`,
        'client.videos.download_content(video.id).write_to_file("video.mp4")',
        'print(video.status)',
      ),
  ],
  [
    'JavaScript',
    (origin, fields) =>
      lines(
        `import { writeFile } from 'node:fs/promises'`,
        OPENAI.javaScript(origin),
        `let video = await client.videos.create(${javaScript(renamed(fields))})`,
        `while (video.status === 'queued' || video.status === 'in_progress') {`,
        '  await new Promise((resolve) => setTimeout(resolve, 5000))',
        '  video = await client.videos.retrieve(video.id)',
        '}',
        `await writeFile('video.mp4', (await client.videos.downloadContent(video.id)).body)`,
        'console.log(video.status)',
      ),
  ],
]
