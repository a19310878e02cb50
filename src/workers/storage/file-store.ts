import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { MEDIA_TYPES, mediaFile, parseMediaName } from '../../shared/media/media.ts'
import { inspect } from './inspect.ts'
import type { MediaStore, SaveRequest, SavedMedia } from './media-store.ts'

/** Where files grow before they are complete; no media name can name it. */
const INCOMING = '.incoming'

const DAY_MS = 24 * 60 * 60 * 1000

/** A store in a folder that the web and the workers share. */
export function createFileStore(folder: string): MediaStore {
  return {
    save: (request) => save(folder, request),
    remove: (name) => rm(join(folder, mediaFile(name)), { force: true }),
    sweep: async (olderThanDays) => {
      await sweepFolder(join(folder, INCOMING), Date.now() - DAY_MS, () => true)
      return sweepResults(folder, Date.now() - olderThanDays * DAY_MS)
    },
  }
}

async function save(folder: string, { source, name, ...expected }: SaveRequest): Promise<SavedMedia> {
  const growing = join(folder, INCOMING, randomUUID())
  const { extension, body, progress } = await inspect(source, expected)
  try {
    const saved = name(extension)
    await mkdir(dirname(growing), { recursive: true })
    // The file is there before a source can fail: one that a stream was still opening would be made after its removal.
    const file = await open(growing, 'wx')
    // `flush` waits for the disk: a result that is named in a committed answer survives a power cut.
    await pipeline(body, file.createWriteStream({ flush: true }))
    await publish(growing, join(folder, mediaFile(saved)))
    return { name: saved, contentType: MEDIA_TYPES[extension], bytes: progress.bytes }
  } catch (error) {
    await body.return()
    await rm(growing, { force: true })
    throw error
  }
}

/** Gives a complete file its name in one step: a reader sees the old file, the new one or none, never a part. */
async function publish(growing: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await rename(growing, path)
  await syncFolder(dirname(path))
  await syncFolder(dirname(dirname(path)))
}

/** Makes names durable: a file's own fsync does not cover the folder that lists it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const isResult = (file: string) => parseMediaName(file) !== null

async function sweepResults(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const shard of await entriesOf(folder)) {
    if (shard !== INCOMING) removed += await sweepFolder(join(folder, shard), before, isResult)
  }
  return removed
}

/** Removes the files of one folder that were last written before a moment (Unix ms); returns how many. */
async function sweepFolder(folder: string, before: number, isOurs: (file: string) => boolean): Promise<number> {
  let removed = 0
  for (const file of (await entriesOf(folder)).filter(isOurs)) {
    const path = join(folder, file)
    if ((await writtenAt(path)) >= before) continue
    await rm(path, { force: true })
    removed += 1
  }
  return removed
}

/** When a file was last written, in Unix ms; `Infinity` when another worker has swept it meanwhile. */
async function writtenAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Infinity
    throw error
  }
}

/** The names in a folder; none if it does not exist yet, or is a file that somebody else put there. */
async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}
