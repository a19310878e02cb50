/**
 * The reading side of the media storage, which is all that the web process has of it. The writing side is
 * `src/workers/storage`.
 */
import { open as openFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Config } from '../platform/config/config.ts'
import type { StorageLocation } from '../platform/config/addresses.ts'
import type { MediaName, MediaType } from './media.ts'
import { parseStorageUrl } from '../platform/config/addresses.ts'
import { contentTypeOf, mediaFile } from './media.ts'
import type { S3Access } from './bucket.ts'
import { bucketAt, isInBucket, objectOf, signedUrl } from './bucket.ts'

/** The part of the configuration that states where media results are. */
export type StorageSettings = Pick<Config, 'STORAGE_URL' | 'S3_ENDPOINT'>

/** Where a stored result is: a file to be served, or an address that serves it. */
export type MediaLocation =
  | { kind: 'file'; path: string; size: number; modifiedAt: Date; contentType: MediaType }
  | { kind: 'redirect'; url: string }

/** Finds stored results. */
export type MediaReader = {
  /**
   * Where a result is, or null when there is none (any more).
   * @param method what the client will do with a redirect's address
   * @throws when the storage cannot be reached
   */
  locate(name: MediaName, method: 'GET' | 'HEAD'): Promise<MediaLocation | null>
  /** The bytes of a result, or null when there is none (any more). @throws when the storage cannot be reached */
  open(name: MediaName): Promise<Readable | null>
}

/** How long a signed address of a bucket stays good, in seconds: long enough to watch a video to its end. */
const SIGNED_SECONDS = 3600

/**
 * The reader of the configured storage.
 * @param access how to reach a bucket, beyond S3_ENDPOINT
 * @throws TypeError where STORAGE_URL cannot be used
 */
export function createMediaReader(settings: StorageSettings, access: S3Access = {}): MediaReader {
  const location = parseStorageUrl(settings.STORAGE_URL)
  if (location.kind === 'file') return fileReader(location.path)
  return bucketReader(location, { endpoint: settings.S3_ENDPOINT, ...access })
}

function fileReader(folder: string): MediaReader {
  return {
    locate: async (name) => {
      const path = join(folder, mediaFile(name))
      const found = await unlessMissing(() => stat(path))
      if (!found) return null
      return { kind: 'file', path, size: found.size, modifiedAt: found.mtime, contentType: contentTypeOf(name) }
    },
    open: async (name) =>
      (await unlessMissing(() => openFile(join(folder, mediaFile(name)))))?.createReadStream() ?? null,
  }
}

/** What is found of a file; null if there is no such file. */
async function unlessMissing<T>(find: () => Promise<T>): Promise<T | null> {
  try {
    return await find()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function bucketReader(location: StorageLocation & { kind: 's3' }, access: S3Access): MediaReader {
  const open = bucketAt(location, access)
  return {
    locate: async (name, method) => {
      const bucket = await open()
      if (!(await isInBucket(bucket, name))) return null
      return { kind: 'redirect', url: await signedUrl(bucket, name, method, SIGNED_SECONDS) }
    },
    open: async (name) => objectOf(await open(), name),
  }
}
