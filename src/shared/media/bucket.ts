/**
 * The S3 bucket of media results. The SDK is loaded with the first use: it costs start-up time and memory that a
 * gateway which keeps its results on a disk need not pay.
 */
import type { Readable } from 'node:stream'
import type * as Sdk from '@aws-sdk/client-s3'
import type { StorageLocation } from '../platform/config/addresses.ts'
import type { MediaName } from './media.ts'
import { contentTypeOf, mediaKey } from './media.ts'

/** How a bucket is reached. What is absent comes from the SDK's usual chain: the `AWS_*` variables, profiles, roles. */
export type S3Access = {
  /** A server other than AWS (MinIO, R2, …); it is addressed by path, not by a bucket's subdomain. */
  endpoint?: string
  region?: string
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
}

/** A bucket that requests can be sent to, the keys in it, and the SDK that makes the requests. */
export type Bucket = {
  sdk: typeof Sdk
  client: Sdk.S3Client
  name: string
  prefix: string
  keyOf: (name: MediaName) => string
}

/** Opens the bucket at the first call, and returns the same one after that. */
export type OpenBucket = () => Promise<Bucket>

/** The region that S3-compatible servers take where none is configured. */
const ANY_REGION = 'us-east-1'

/**
 * A bucket that is opened when it is first needed. Opening sends no request.
 * The returned function throws an Error where AWS itself is meant and no region is configured anywhere.
 */
export function bucketAt(location: StorageLocation & { kind: 's3' }, access: S3Access): OpenBucket {
  const open = async (): Promise<Bucket> => {
    const sdk = await import('@aws-sdk/client-s3')
    const keyOf = (name: MediaName) => mediaKey(location.prefix, name)
    return { sdk, client: await connect(sdk, access), name: location.bucket, prefix: location.prefix, keyOf }
  }
  let opened: Promise<Bucket> | null = null
  return () => (opened ??= open())
}

async function connect({ S3Client }: typeof Sdk, access: S3Access): Promise<Sdk.S3Client> {
  const settings: Sdk.S3ClientConfig = {
    ...access,
    forcePathStyle: access.endpoint !== undefined,
    // Servers other than AWS refuse the checksum trailers that the SDK sends by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }
  const client = new S3Client(settings)
  try {
    await client.config.region()
    return client
  } catch (error) {
    if (access.endpoint === undefined) throw error
    return new S3Client({ ...settings, region: ANY_REGION })
  }
}

/** Whether a result is in its bucket. @throws the SDK's error if the bucket cannot be asked */
export async function isInBucket({ sdk, client, name: bucket, keyOf }: Bucket, name: MediaName): Promise<boolean> {
  const head = new sdk.HeadObjectCommand({ Bucket: bucket, Key: keyOf(name) })
  return (await unlessMissing(sdk, () => client.send(head))) !== null
}

/** What is found in a bucket; null if there is no such object. */
async function unlessMissing<T>(sdk: typeof Sdk, find: () => Promise<T>): Promise<T | null> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof sdk.S3ServiceException && error.$metadata.httpStatusCode === 404) return null
    throw error
  }
}

/** The bytes of a result; null if it is not in its bucket. @throws the SDK's error if the bucket cannot be asked */
export async function objectOf(
  { sdk, client, name: bucket, keyOf }: Bucket,
  name: MediaName,
): Promise<Readable | null> {
  const get = new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(name) })
  const found = await unlessMissing(sdk, () => client.send(get))
  return (found?.Body as Readable | undefined) ?? null
}

/**
 * An address under which anybody can read a result for some seconds, without credentials. It is signed for one
 * method: S3 refuses a HEAD with a URL that was signed for GET.
 */
export async function signedUrl(
  { sdk, client, name: bucket, keyOf }: Bucket,
  name: MediaName,
  method: 'GET' | 'HEAD',
  seconds: number,
): Promise<string> {
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
  const object = {
    Bucket: bucket,
    Key: keyOf(name),
    ResponseContentType: contentTypeOf(name),
    ResponseContentDisposition: 'inline',
    ResponseCacheControl: `private, max-age=${seconds}`,
  }
  const command = method === 'GET' ? new sdk.GetObjectCommand(object) : new sdk.HeadObjectCommand(object)
  return getSignedUrl(client, command, { expiresIn: seconds })
}
