/**
 * The S3 bucket of media results. Imported only where STORAGE_URL names one: the SDK costs start-up time and memory
 * that a gateway with a disk need not pay.
 */
import { GetObjectCommand, HeadObjectCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { MediaName, StorageLocation } from './media.ts'
import { contentTypeOf, mediaKey } from './media.ts'

/** How a bucket is reached. What is absent comes from the SDK's usual chain: the `AWS_*` variables, profiles, roles. */
export type S3Access = {
  /** A server other than AWS (MinIO, R2, …); it is addressed by path, not by a bucket's subdomain. */
  endpoint?: string
  region?: string
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
}

/** A bucket that requests can be sent to, and the keys in it. */
export type Bucket = { client: S3Client; name: string; prefix: string; keyOf: (name: MediaName) => string }

/** The region that S3-compatible servers take where none is configured. */
const ANY_REGION = 'us-east-1'

/**
 * Opens a bucket. No request is sent yet.
 * @throws Error where AWS itself is meant and no region is configured anywhere
 */
export async function openBucket(location: StorageLocation & { kind: 's3' }, access: S3Access): Promise<Bucket> {
  const settings = {
    ...access,
    forcePathStyle: access.endpoint !== undefined,
    // Servers other than AWS refuse the checksum trailers that the SDK sends by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  } as const
  let client = new S3Client(settings)
  try {
    await client.config.region()
  } catch (error) {
    if (access.endpoint === undefined) throw error
    client = new S3Client({ ...settings, region: ANY_REGION })
  }
  return { client, name: location.bucket, prefix: location.prefix, keyOf: (name) => mediaKey(location.prefix, name) }
}

/** Whether a result is in its bucket. @throws the SDK's error when the bucket cannot tell */
export async function isInBucket(bucket: Bucket, name: MediaName): Promise<boolean> {
  try {
    await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: bucket.keyOf(name) }))
    return true
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return false
    throw error
  }
}

/**
 * An address under which anybody can read a result for some seconds, without credentials. It is signed for one
 * method: S3 refuses a HEAD under an address that was signed for GET.
 */
export function signedUrl(bucket: Bucket, name: MediaName, method: 'GET' | 'HEAD', seconds: number): Promise<string> {
  const object = {
    Bucket: bucket.name,
    Key: bucket.keyOf(name),
    ResponseContentType: contentTypeOf(name),
    ResponseContentDisposition: 'inline',
    ResponseCacheControl: `private, max-age=${seconds}`,
  }
  const command = method === 'GET' ? new GetObjectCommand(object) : new HeadObjectCommand(object)
  return getSignedUrl(bucket.client, command, { expiresIn: seconds })
}
