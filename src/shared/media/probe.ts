/** Whether media results can be written, read and removed at STORAGE_URL. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bucketAt } from './bucket.ts'
import type { S3Access } from './bucket.ts'
import { parseStorageUrl } from '../platform/config/storage-url.ts'
import type { StorageSettings } from './reader.ts'

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
