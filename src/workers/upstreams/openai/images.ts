/**
 * Images of OpenAI's kind: made from a prompt, or edited from a picture, within one request.
 */
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import type { DirectMediaAdapter, MediaSource, UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { failureIn, malformedAnswer } from '../failures.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { formOf } from '../form.ts'
import type { UpstreamHttp, UpstreamRequest } from '../http.ts'
import { pictureIn } from '../media-source.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'

/** The images of every server that speaks OpenAI's wire format. */
export function createOpenaiImages(http: UpstreamHttp): DirectMediaAdapter {
  return {
    kind: 'direct',
    uploads: true,
    async generate(request, context) {
      const answer = await http.json(outgoing(request, context), context)
      const failure = failureIn(answer)
      if (failure) throw failure
      return firstImage(answer)
    },
  }
}

/** An edit is an upload of the picture, which is fetched here: OpenAI takes no address. Seedream does, as `image`. */
function outgoing(
  { prompt, image_url: imageUrl, resolution }: MediaRequest,
  { route, upload }: UpstreamContext,
): UpstreamRequest {
  const size = sizeOf('image', resolution)
  const fields: Fields = { model: route.model, prompt, ...(size && { size }) }
  const post = { method: 'POST', kind: 'image' } as const
  if (!upload) {
    const json = applyRules({ ...fields, image_url: imageUrl }, route)
    return { ...post, path: '/images/generations', body: { json } }
  }
  const form = formOf(applyRules(fields, route), { field: 'image', reference: upload })
  return { ...post, path: '/images/edits', body: { form } }
}

/** The first image of an answer. @throws UpstreamError `unknown` where there is none */
export function firstImage(answer: Fields): MediaSource {
  const picture = pictureIn(answer)
  if (!picture) throw malformedAnswer('the answer has no image')
  return picture
}
