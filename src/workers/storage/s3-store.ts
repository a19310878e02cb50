import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand, DeleteObjectCommand, paginateListObjectsV2, ListMultipartUploadsCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { StorageLocation } from '../../shared/media.ts'
import { MEDIA_TYPES, parseMediaName } from '../../shared/media.ts'
import type { Bucket, S3Access } from '../../shared/media-bucket.ts'
import { openBucket } from '../../shared/media-bucket.ts'
import { inspect } from './inspect.ts'
import type { MediaStore, SaveRequest, SavedMedia } from './media-store.ts'

/** The size of a part and how many travel at once: together the most memory of one save, 16 MB. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2

const DAY_MS = 24 * 60 * 60 * 1000

/** A store in an S3 bucket. An upload becomes visible only when its last part is there and was found complete. */
export async function createS3Store(location: StorageLocation & { kind: 's3' }, access: S3Access): Promise<MediaStore> {
  const bucket = await openBucket(location, access)
  return {
    save: (request) => save(bucket, request),
    remove: async (name) => {
      await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: bucket.keyOf(name) }))
    },
    sweep: async (olderThanDays) => {
      await abortOldUploads(bucket, Date.now() - DAY_MS)
      return sweepResults(bucket, Date.now() - olderThanDays * DAY_MS)
    },
  }
}

async function save(bucket: Bucket, { source, name, ...expected }: SaveRequest): Promise<SavedMedia> {
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

async function sweepResults(bucket: Bucket, before: number): Promise<number> {
  let removed = 0
  const prefix = bucket.prefix === '' ? '' : `${bucket.prefix}/`
  for await (const page of paginateListObjectsV2({ client: bucket.client }, { Bucket: bucket.name, Prefix: prefix })) {
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const isOurs = parseMediaName(Key.slice(prefix.length)) !== null
      if (!isOurs || !LastModified || LastModified.getTime() >= before) continue
      // One by one: not every S3-compatible server knows the deletion of many.
      await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }))
      removed += 1
    }
  }
  return removed
}

/** Ends uploads that a killed worker left behind: their parts are invisible, and are paid for until somebody does. */
async function abortOldUploads(bucket: Bucket, before: number): Promise<void> {
  const ours = { Bucket: bucket.name, Prefix: bucket.prefix }
  const listed = await bucket.client.send(new ListMultipartUploadsCommand(ours))
  for (const { Key, UploadId, Initiated } of listed.Uploads ?? []) {
    if (!Initiated || Initiated.getTime() >= before) continue
    await bucket.client.send(new AbortMultipartUploadCommand({ Bucket: bucket.name, Key, UploadId }))
  }
}
