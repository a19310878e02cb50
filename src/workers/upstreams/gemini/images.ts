/** Pictures of Gemini's models, which answer as chats do: one for a request, made or edited. */
import { sizeOf } from '../../../shared/requests/sizes.ts'
import type { EditedPicture, MediaRequest } from '../../../shared/requests/requests.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { MEDIA_TYPES } from '../../../shared/media/media.ts'
import type { DirectMediaAdapter, Reference, UpstreamContext } from '../adapter.ts'
import { UpstreamError } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import { bytesOf } from '../media-source.ts'
import { blockedPrompt } from './decode-answer.ts'
import { pathOf } from './path.ts'

/** The pictures of every server that speaks the Gemini API. */
export function createGeminiImages(http: UpstreamHttp): DirectMediaAdapter {
  return {
    kind: 'direct',
    uploads: true,
    async generate(request, context) {
      const { route } = context
      const json = applyRules(await bodyFor(request, context), route)
      const path = pathOf(route, 'generateContent')
      const answer = unfailed(await http.json({ method: 'POST', kind: 'image', path, body: { json } }, context))
      return { files: [bytesOf(pictureIn(answer))] }
    },
  }
}

async function bodyFor(request: MediaRequest, context: UpstreamContext): Promise<Fields> {
  const { prompt, images = [], seed } = request
  const uploaded = await Promise.all(images.map((picture) => editedPicture(picture, context)))
  const pictures = [...(context.upload ? [pictureOf(context.upload)] : []), ...uploaded]
  const shape = shapeOf(request)
  return {
    contents: [{ role: 'user', parts: [...pictures, { text: prompt }] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(seed !== undefined && { seed }),
      ...(shape && { imageConfig: shape }),
    },
  }
}

const pictureOf = ({ pieces, contentType }: Pick<Reference, 'pieces' | 'contentType'>): Fields => ({
  inlineData: { mimeType: contentType, data: Buffer.concat(pieces).toString('base64') },
})

/** A picture of an edit: one that was fetched here, or a file of the call's form. */
async function editedPicture(picture: EditedPicture, { files = [], fetched }: UpstreamContext): Promise<Fields> {
  if (typeof picture === 'string') return pictureOf(fetched!.get(picture)!)
  const pieces: Uint8Array[] = []
  for await (const piece of files[picture.place]!.open()) pieces.push(piece)
  return pictureOf({ pieces, contentType: MEDIA_TYPES[picture.extension] })
}

const RATIO = /^\d{1,3}:\d{1,3}$/
const TIER = /^(512|\d{1,2}K)$/i

/** What is asked of the picture: a ratio, or a tier of sizes. Width and height are sent as their ratio. */
function shapeOf({ resolution, size = resolution }: MediaRequest): Fields | undefined {
  if (size === undefined) return undefined
  if (RATIO.test(size)) return { aspectRatio: size }
  if (TIER.test(size)) return { imageSize: size.toUpperCase() }
  const [width = 0, height = 0] = (sizeOf('image', size) ?? '').split('x').map(Number)
  const common = divisorOf(width, height)
  return common > 0 ? { aspectRatio: `${width / common}:${height / common}` } : { imageSize: size }
}

const divisorOf = (one: number, other: number): number => (other === 0 ? one : divisorOf(other, one % other))

/**
 * The data of the picture in an answer: the last one that is no thought.
 * @throws UpstreamError `rejected` where the content was refused, `unknown` where there is none
 */
function pictureIn(answer: Fields): string {
  const blocked = blockedPrompt(answer)
  if (blocked) throw blocked
  const [candidate] = listOf(answer.candidates)
  const { finishReason: reason, content } = candidate ?? {}
  const pictures = listOf(asFields(content).parts).flatMap(({ inlineData, thought }) => {
    const { data } = asFields(inlineData)
    return isText(data) && thought !== true ? [data] : []
  })
  const picture = pictures.at(-1)
  if (picture !== undefined) return picture
  if (isText(reason) && REFUSED.test(reason))
    throw new UpstreamError('rejected', `the picture was refused (${reason})`, {
      code: reason,
      fault: 'content_policy',
    })
  throw malformedAnswer('the answer has no image')
}

/** Reasons that mean that a content is not served. */
const REFUSED = /SAFETY|PROHIBITED|RECITATION|BLOCKLIST|SPII|LANGUAGE|MODEL_ARMOR/
