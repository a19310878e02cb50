/** The first check of the storage of media results. */
import { access, constants, mkdir } from 'node:fs/promises'
import { ConfigError } from '../platform/config/config.ts'
import { sentenceOf } from '../platform/process/log.ts'
import { CHECK_MS, within } from '../platform/process/start-up.ts'
import { bucketAt } from './bucket.ts'
import type { Bucket, S3Access } from './bucket.ts'
import { parseStorageUrl } from '../platform/config/storage-url.ts'
import type { StorageSettings } from './reader.ts'

/** What S3 answers where the settings are wrong, and not the service. */
const WRONG_SETTINGS = new Set([
  'NoSuchBucket',
  'InvalidBucketName',
  'PermanentRedirect',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'AuthorizationHeaderMalformed',
  'InvalidToken',
  'ExpiredToken',
  'CredentialsProviderError',
])

/**
 * Checks whether results can be stored at STORAGE_URL: that a folder can be written, that a bucket is there.
 * @returns a warning if that cannot be checked now; null if all is well.
 * @throws ConfigError if the settings are wrong.
 */
export async function checkStorage(settings: StorageSettings, access_: S3Access = {}): Promise<string | null> {
  const location = parseStorageUrl(settings.STORAGE_URL)
  if (location.kind === 'file') return checkFolder(location.path)
  const open = bucketAt(location, { endpoint: settings.S3_ENDPOINT, ...access_ })
  const bucket = await open().catch((error: unknown) => {
    throw new ConfigError(`STORAGE_URL: the bucket cannot be reached: ${sentenceOf(error)}.`)
  })
  return checkBucket(bucket)
}

async function checkFolder(folder: string): Promise<null> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
    return null
  } catch (error) {
    throw new ConfigError(`STORAGE_URL: the folder ${folder} cannot be written: ${sentenceOf(error)}.`)
  }
}

async function checkBucket({ sdk, client, name, prefix }: Bucket): Promise<string | null> {
  try {
    // The library searches for credentials before it checks the signal.
    await within(CHECK_MS, () =>
      client.send(new sdk.ListObjectsV2Command({ Bucket: name, Prefix: prefix, MaxKeys: 1 }), {
        abortSignal: AbortSignal.timeout(CHECK_MS),
      }),
    )
    return null
  } catch (error) {
    const reported = error as Error
    if (WRONG_SETTINGS.has(reported.name)) {
      throw new ConfigError(
        `STORAGE_URL: the bucket ${name} cannot be used: ${reported.name}: ${sentenceOf(reported)}.`,
      )
    }
    return `STORAGE_URL: the bucket ${name} does not answer as it should: ${reported.name}: ${sentenceOf(reported)}.`
  }
}
