/** How pictures are asked for, in OpenAI's names. */
import type { Fields } from '../../shared/platform/fields.ts'
import type { MediaRequest } from '../../shared/requests/requests.ts'
import { withShortUser } from './user-ids.ts'

const NAMES = 'quality background output_format output_compression moderation style input_fidelity seed user'.split(' ')

/**
 * The fields of pictures in a request, but for their size. Their number is sent where it is more than one: not every
 * server knows it. The form of the answer is ours to make: some servers refuse to be asked for one.
 */
export const pictureFields = ({ n = 1, ...request }: MediaRequest): Fields => ({
  n: n > 1 ? n : undefined,
  ...withShortUser(Object.fromEntries(NAMES.map((name) => [name, (request as Fields)[name]]))),
})

/** All fields of a request for media, for upstreams whose models have schemas of their own: a route renames them. */
export const inputOf = (request: MediaRequest): Fields => {
  const { prompt, image_url, duration, resolution, size } = request
  return { prompt, image_url, duration, resolution, size, ...pictureFields(request) }
}
