/** Images of OpenAI's kind: made from a prompt, or edited from a picture, within one request. */
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'
import { MEDIA_TYPES } from '../../../shared/media/media.ts'
import type { EditedPicture } from '../../../shared/requests/requests.ts'
import type { DirectMediaAdapter, Made, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamHttp, UpstreamRequest } from '../http.ts'
import { picturesIn } from '../media-source.ts'
import type { FormPart } from '../multipart.ts'
import { textsOf } from '../multipart.ts'
import { pictureFields } from '../picture-fields.ts'
import { partOf } from '../references.ts'

/** The images of every server that speaks OpenAI's wire format. */
export function createOpenaiImages(http: UpstreamHttp): DirectMediaAdapter {
  return {
    kind: 'direct',
    uploads: true,
    generate: async (request, context) =>
      madeImages(unfailed(await http.json(outgoing(request, context), context)), request),
  }
}

/**
 * An edit is an upload: of the pictures that were uploaded here, or of those at addresses, which are fetched here.
 * OpenAI takes no address in a form; Seedream does, as `image`.
 */
function outgoing(request: MediaRequest, context: UpstreamContext): UpstreamRequest {
  const { route, upload } = context
  const { prompt, image_url: imageUrl, resolution, size = sizeOf('image', resolution) } = request
  const fields: Fields = { model: route.model, prompt, size, ...pictureFields(request) }
  const post = { method: 'POST', kind: 'image' } as const
  if (request.images) {
    const parts = [...textsOf(applyRules(fields, route)), ...picturesOf(request, context)]
    return { ...post, path: '/images/edits', body: { parts } }
  }
  if (!upload) {
    const json = applyRules({ ...fields, image_url: imageUrl }, route)
    return { ...post, path: '/images/generations', body: { json } }
  }
  const parts = [...textsOf(applyRules(fields, route)), partOf('image', upload)]
  return { ...post, path: '/images/edits', body: { parts } }
}

/** The pictures of an edit in their order, and its mask. One is `image`, several are `image[]`, as of OpenAI's SDKs. */
function picturesOf({ images = [], mask }: MediaRequest, { files = [], fetched }: UpstreamContext): FormPart[] {
  const fileOf = (name: string, picture: EditedPicture): FormPart => {
    if (typeof picture === 'string') return partOf(name, fetched!.get(picture)!)
    const { place, extension } = picture
    const fileName = `${name.replace('[]', '')}-${place}.${extension}`
    return { name, file: { ...files[place]!, name: fileName, type: MEDIA_TYPES[extension] } }
  }
  const name = images.length === 1 ? 'image' : 'image[]'
  return [...images.map((one) => fileOf(name, one)), ...(mask ? [fileOf('mask', mask)] : [])]
}

/**
 * The images of an answer, as many as were asked for at the most, and their reported size and quality.
 * @throws UpstreamError `unknown` where there is none
 */
export function madeImages(answer: Fields, { n = 1 }: MediaRequest): Made {
  const files = picturesIn(answer, n)
  if (files.length === 0) throw malformedAnswer('the answer has no image')
  const { size, quality } = answer
  return {
    files,
    ...(typeof size === 'string' && { size: size.toLowerCase() }),
    ...(typeof quality === 'string' && { quality: quality.toLowerCase() }),
  }
}
