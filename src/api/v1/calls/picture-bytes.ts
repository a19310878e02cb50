/**
 * Answers with the bytes of stored pictures, as base64 in the places of their names. They are read from the storage
 * while they are sent, so that an answer takes little memory however large its pictures are.
 */
import type { Readable } from 'node:stream'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { Answer } from '../../../shared/calls/stored-answers.ts'
import type { MediaName } from '../../../shared/media/media.ts'
import type { MediaReader } from '../../../shared/media/reader.ts'

/** An answer whose body has names in place of pictures. */
export type PicturesAnswer = Answer & Required<Pick<Answer, 'pictures'>>

/** Whether an answer has names in place of pictures. */
export const hasPictures = (answer: Answer): answer is PicturesAnswer => answer.pictures !== undefined

/**
 * @throws ApiError result_expired if one of the pictures is no longer stored, service_unavailable if the storage
 * cannot be reached
 */
export async function requirePictures(media: MediaReader, { pictures }: PicturesAnswer): Promise<void> {
  const found = await Promise.all(pictures.map((name) => media.locate(name, 'HEAD'))).catch((cause: unknown) => {
    throw new ApiError('service_unavailable', { cause })
  })
  if (found.includes(null)) throw new ApiError('result_expired')
}

/** The body in pieces. Reading throws if a picture was deleted meanwhile: its reader sees a broken connection. */
export async function* piecesWithPictures(
  media: MediaReader,
  { body, pictures }: PicturesAnswer,
): AsyncGenerator<Buffer, void, void> {
  let at = 0
  for (const name of pictures) {
    const place = body.indexOf(`"${name}"`, at) + 1
    yield Buffer.from(body.slice(at, place))
    yield* base64Of(await opened(media, name))
    at = place + name.length
  }
  yield Buffer.from(body.slice(at))
}

async function opened(media: MediaReader, name: MediaName): Promise<Readable> {
  const picture = await media.open(name)
  if (!picture) throw new Error('a stored picture was removed before it was read')
  return picture
}

/** The bytes of a file as base64: its pieces are of three bytes each but for the last. */
async function* base64Of(file: Readable): AsyncGenerator<Buffer, void, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of file as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole))
    rest = bytes.subarray(whole)
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'))
}
