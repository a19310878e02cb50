import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { MediaExtension, MediaName } from '../../../src/shared/media/media.ts'
import { mediaFile, mediaName } from '../../../src/shared/media/media.ts'
import { createMediaReader } from '../../../src/shared/media/reader.ts'
import { createMediaStore } from '../../../src/workers/storage/create-store.ts'
import type { MediaStore } from '../../../src/workers/storage/media-store.ts'
import { MediaRefused } from '../../../src/workers/storage/refused.ts'
import { failureOf, fixture, inChunks } from './media-files.ts'

const DAY_MS = 86_400_000

/** A name of a new call's result, by its type. */
const namer = () => {
  const call = newId('call')
  return (extension: MediaExtension) => mediaName('a secret', call, 0, extension)
}

describe('the file store', () => {
  let folder: string
  let store: MediaStore

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-media-'))
    store = createMediaStore({ STORAGE_URL: `file:${folder}/media` })
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  const image = { kind: 'image', maxBytes: 1e6 } as const
  const pathOf = (name: MediaName) => join(folder, 'media', mediaFile(name))
  const files = async () =>
    (await readdir(join(folder, 'media'), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)

  const saved = async (file = 'rgb.png', name = namer()) =>
    store.save({ ...image, name, source: inChunks(fixture(file), 100) })

  async function age(path: string, days: number): Promise<void> {
    const then = new Date(Date.now() - days * DAY_MS)
    await utimes(path, then, then)
  }

  it('keeps a result under a name with the type of its bytes', async () => {
    const name = namer()
    const result = await saved('baseline.jpg', name)
    expect(result).to.deep.equal({
      name: name('jpg'),
      contentType: 'image/jpeg',
      bytes: fixture('baseline.jpg').length,
    })
    expect((await readFile(pathOf(result.name))).equals(fixture('baseline.jpg'))).to.equal(true)
  })

  it('is read by its reading side', async () => {
    const { name, bytes } = await saved()
    const reader = createMediaReader({ STORAGE_URL: `file:${folder}/media` })
    const found = await reader.locate(name, 'GET')
    expect(found).to.include({ kind: 'file', path: pathOf(name), size: bytes, contentType: 'image/png' })
    expect(await reader.locate(namer()('png'), 'GET')).to.equal(null)
  })

  it('replaces the result of the same call', async () => {
    const name = namer()
    await saved('rgb.png', name)
    await saved('palette.png', name)
    expect(await files()).to.deep.equal([name('png')])
    expect((await readFile(pathOf(name('png')))).equals(fixture('palette.png'))).to.equal(true)
  })

  it('keeps whole files when several workers save the same call at once', async () => {
    const name = namer()
    await Promise.all(Array.from({ length: 20 }, (_, at) => saved(at % 2 ? 'rgb.png' : 'palette.png', name)))
    expect(await files()).to.deep.equal([name('png')])
    const kept = await readFile(pathOf(name('png')))
    expect(kept.equals(fixture('rgb.png')) || kept.equals(fixture('palette.png'))).to.equal(true)
  })

  it('leaves nothing of what it refuses', async () => {
    const name = namer()
    for (const bytes of [
      fixture('rgb.png').subarray(0, -1),
      Buffer.from('<svg/>'),
      fixture('plain.mp4'),
      Buffer.alloc(0),
    ]) {
      expect(await failureOf(store.save({ ...image, name, source: inChunks(bytes, 100) }))).to.be.instanceOf(
        MediaRefused,
      )
    }
    expect(
      await failureOf(store.save({ ...image, name, maxBytes: 200, source: inChunks(fixture('rgb.png'), 100) })),
    ).to.include({ reason: 'too_large' })
    expect(await files().catch(() => [])).to.deep.equal([])
  })

  it('keeps the earlier result when a second collection breaks off', async () => {
    const name = namer()
    await saved('rgb.png', name)
    const broke = new Error('the wire broke')
    const breaking = async function* () {
      yield fixture('palette.png').subarray(0, 1100)
      throw broke
    }
    expect(await failureOf(store.save({ ...image, name, source: breaking() }))).to.equal(broke)
    expect(await files()).to.deep.equal([name('png')])
    expect((await readFile(pathOf(name('png')))).equals(fixture('rgb.png'))).to.equal(true)
  })

  it('closes its source when the disk fails', async () => {
    await writeFile(join(folder, 'media'), 'a file where the folder should be')
    let closed = false
    const source = async function* () {
      try {
        yield* inChunks(fixture('rgb.png'), 2)
      } finally {
        closed = true
      }
    }
    expect(await failureOf(store.save({ ...image, name: namer(), source: source() }))).to.include({ code: 'ENOTDIR' })
    expect(closed).to.equal(true)
  })

  it('removes a result, even one that is gone', async () => {
    const { name } = await saved()
    await store.remove(name)
    await store.remove(name)
    expect(await files()).to.deep.equal([])
  })

  it('deletes what is older than the given days, and only files of its own', async () => {
    const [old, young] = [await saved(), await saved()]
    await age(pathOf(old.name), 31)
    await age(pathOf(young.name), 29)
    await writeFile(join(folder, 'media', 'README.txt'), 'an operator put this here')
    await age(join(folder, 'media', 'README.txt'), 99)
    await mkdir(join(folder, 'media', 'mine'))
    await writeFile(join(folder, 'media', 'mine', 'photo.png'), 'and this')
    await age(join(folder, 'media', 'mine', 'photo.png'), 99)
    expect(await store.sweep(30)).to.equal(1)
    expect(await files()).to.have.members([young.name, 'README.txt', 'photo.png'])
    expect(await store.sweep(30)).to.equal(0)
  })

  it('deletes what a killed worker left incomplete, once it is a day old', async () => {
    await saved()
    const incoming = join(folder, 'media', '.incoming')
    await writeFile(join(incoming, 'of-yesterday'), 'half')
    await writeFile(join(incoming, 'of-now'), 'half')
    await age(join(incoming, 'of-yesterday'), 1.1)
    expect(await store.sweep(30)).to.equal(0)
    expect(await readdir(incoming)).to.deep.equal(['of-now'])
  })

  it('can be swept before its folder exists', async () => {
    expect(await store.sweep(30)).to.equal(0)
  })
})
