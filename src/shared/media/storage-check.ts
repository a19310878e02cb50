/** The checks of the storage of media results: the first one, and whether they can be written, read and removed. */
import { access, constants, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { ConfigError } from '../platform/config/config.ts'
import { sentenceOf } from '../platform/process/log.ts'
import { CHECK_MS, within } from '../platform/process/start-up.ts'
import { bucketAt } from './bucket.ts'
import type { Bucket, S3Access } from './bucket.ts'
import { parseStorageUrl } from '../platform/config/addresses.ts'
import type { StorageSettings } from './reader.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

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

const TEXT = 'A look whether results can be kept. It may be removed.'

/** Puts an object, gets it and deletes it. @throws the storage's error, or that it returned something else. */
export async function probeStorage(settings: StorageSettings, access: S3Access = {}): Promise<void> {
  const location = parseStorageUrl(settings.STORAGE_URL)
  // No media name: it is never served.
  const name = `.look-${randomUUID()}`
  if (location.kind === 'file') {
    const file = join(location.path, name)
    await mkdir(location.path, { recursive: true })
    await writeFile(file, TEXT)
    expectSame(await readFile(file, 'utf8'))
    return rm(file)
  }
  const bucket = await bucketAt(location, { endpoint: settings.S3_ENDPOINT, ...access })()
  const { sdk, client, prefix } = bucket
  const object = { Bucket: bucket.name, Key: prefix === '' ? name : `${prefix}/${name}` }
  await client.send(new sdk.PutObjectCommand({ ...object, Body: TEXT, ContentType: 'text/plain' }))
  const { Body } = await client.send(new sdk.GetObjectCommand(object))
  expectSame((await Body?.transformToString()) ?? '')
  await client.send(new sdk.DeleteObjectCommand(object))
}

function expectSame(text: string): void {
  if (text !== TEXT) throw new Error('what was written is not what is read')
}
