import { Readable } from 'node:stream'
import type { StorageLocation } from '../../shared/platform/config/addresses.ts'
import { MEDIA_TYPES, parseMediaName } from '../../shared/media/media.ts'
import type { Bucket, S3Access } from '../../shared/media/bucket.ts'
import { bucketAt } from '../../shared/media/bucket.ts'
import { inspect } from './inspect.ts'
import type { MediaStore, SaveRequest, SavedMedia } from './media-store.ts'

/** The size of a part and how many travel at once: together the most memory of one save, 16 MB. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2

const DAY_MS = 24 * 60 * 60 * 1000

/** A store in an S3 bucket. An upload becomes visible only when its last part is there and was found complete. */
export function createS3Store(location: StorageLocation & { kind: 's3' }, access: S3Access): MediaStore {
  const open = bucketAt(location, access)
  return {
    save: async (request) => save(await open(), request),
    remove: async (name) => {
      const bucket = await open()
      await removeKey(bucket, bucket.keyOf(name))
    },
    sweep: async (olderThanDays) => {
      const bucket = await open()
      const removed = await sweepResults(bucket, Date.now() - olderThanDays * DAY_MS)
      await abortOldUploads(bucket, Date.now() - DAY_MS)
      return removed
    },
  }
}

async function save(bucket: Bucket, { source, name, ...expected }: SaveRequest): Promise<SavedMedia> {
  const { Upload } = await import('@aws-sdk/lib-storage')
  const { extension, body, progress } = await inspect(source, expected)
  const saved = name(extension)
  const contentType = MEDIA_TYPES[extension]
  const stream = Readable.from(body, { objectMode: false })
  const upload = new Upload({
    client: bucket.client,
    params: { Bucket: bucket.name, Key: bucket.keyOf(saved), Body: stream, ContentType: contentType },
    partSize: PART_BYTES,
    queueSize: PARTS_AT_ONCE,
    leavePartsOnError: false,
  })
  try {
    await upload.done()
    return { name: saved, contentType, bytes: progress.bytes }
  } finally {
    stream.destroy()
  }
}

/** Keys are removed one by one: not every S3-compatible server knows the removal of many. */
async function removeKey({ sdk, client, name }: Bucket, key: string): Promise<void> {
  await client.send(new sdk.DeleteObjectCommand({ Bucket: name, Key: key }))
}

async function sweepResults(bucket: Bucket, before: number): Promise<number> {
  const { sdk, client } = bucket
  const prefix = bucket.prefix === '' ? '' : `${bucket.prefix}/`
  let removed = 0
  for await (const page of sdk.paginateListObjectsV2({ client }, { Bucket: bucket.name, Prefix: prefix })) {
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const isOurs = parseMediaName(Key.slice(prefix.length)) !== null
      if (!isOurs || !LastModified || LastModified.getTime() >= before) continue
      await removeKey(bucket, Key)
      removed += 1
    }
  }
  return removed
}

/** Ends uploads that a killed worker left behind: their parts are invisible, but paid for until then. */
async function abortOldUploads({ sdk, client, name, prefix }: Bucket, before: number): Promise<void> {
  const listed = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket: name, Prefix: prefix }))
  for (const { Key, UploadId, Initiated } of listed.Uploads ?? []) {
    if (!Initiated || Initiated.getTime() >= before) continue
    await client.send(new sdk.AbortMultipartUploadCommand({ Bucket: name, Key, UploadId }))
  }
}
