import { parseStorageUrl } from '../../shared/platform/config/addresses.ts'
import type { S3Access } from '../../shared/media/bucket.ts'
import type { StorageSettings } from '../../shared/media/reader.ts'
import { createFileStore } from './file-store.ts'
import type { MediaStore } from './media-store.ts'
import { createS3Store } from './s3-store.ts'

/**
 * The store of the configured storage. No folder is made and no request sent before the first use.
 * @param access how to reach a bucket, beyond S3_ENDPOINT
 * @throws TypeError where STORAGE_URL cannot be used
 */
export function createMediaStore(settings: StorageSettings, access: S3Access = {}): MediaStore {
  const location = parseStorageUrl(settings.STORAGE_URL)
  if (location.kind === 'file') return createFileStore(location.path)
  return createS3Store(location, { endpoint: settings.S3_ENDPOINT, ...access })
}
