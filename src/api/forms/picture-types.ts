/**
 * The types of a form's pictures by their bytes: what a client states is often wrong, and is not sent on.
 */
import { IMAGE_HEAD_BYTES, imageTypeOf } from '../../shared/media/image-type.ts'
import type { MediaExtension } from '../../shared/media/media.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { FormFile } from './form-file.ts'

/** Where a body has the types of its files: a name that no form can have. */
const TYPES = Symbol('the types of files')

type Looked = JsonObject & { [TYPES]?: ReadonlyMap<FormFile, MediaExtension | null> }

/** Reads the first bytes of each file, for `pictureTypeOf`. */
export async function withPictureTypes(body: JsonObject): Promise<JsonObject> {
  const files = Object.values(body)
    .flat()
    .filter((one) => one instanceof FormFile)
  const types = files.map(
    async (file) => [file, imageTypeOf(await file.read(0, IMAGE_HEAD_BYTES))] as [FormFile, MediaExtension | null],
  )
  return { ...body, [TYPES]: new Map(await Promise.all(types)) }
}

/** The type of a picture of a body. @throws ApiError invalid_request that names its field if it is none */
export function pictureTypeOf(body: JsonObject, field: string, file: FormFile): MediaExtension {
  const extension = (body as Looked)[TYPES]?.get(file)
  if (extension) return extension
  throw fieldRefusal(field, 'must be a PNG, JPEG, WebP or GIF image')
}
