import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { MediaExtension } from '../../../src/shared/media/media.ts'
import { mediaName } from '../../../src/shared/media/media.ts'
import { createMediaReader } from '../../../src/shared/media/reader.ts'
import { createMediaStore } from '../../../src/workers/storage/create-store.ts'
import type { MediaStore } from '../../../src/workers/storage/media-store.ts'
import { MediaRefused } from '../../../src/workers/storage/refused.ts'
import { failureOf, fixture, inChunks } from './media-files.ts'
import type { S3Server } from './s3-server.ts'
import { startS3 } from './s3-server.ts'

const DAY_MS = 86_400_000
const MB = 1024 * 1024

const namer = () => {
  const call = newId('call')
  return (extension: MediaExtension) => mediaName('a secret', call, 0, extension)
}

/** A real video with so much media data, in chunks. `cutAt` ends it early. */
async function* largeVideo(dataBytes: number, cutAt = Infinity): AsyncGenerator<Uint8Array> {
  const whole = fixture('faststart.mp4')
  yield whole.subarray(0, whole.indexOf('mdat') - 4)
  const head = Buffer.from('\0\0\0\0mdat', 'latin1')
  head.writeUInt32BE(dataBytes + 8, 0)
  yield head
  for (let sent = 0; sent < Math.min(dataBytes, cutAt); sent += MB) yield Buffer.alloc(MB, sent / MB)
}

describe('the S3 store', () => {
  let s3: S3Server
  let store: MediaStore
  const settings = () => ({ STORAGE_URL: `s3://${s3.bucket}/results/here`, S3_ENDPOINT: s3.origin })
  const image = { kind: 'image', maxBytes: MB } as const
  const video = { kind: 'video', maxBytes: 100 * MB } as const

  beforeEach(async () => {
    s3 = await startS3()
    store = createMediaStore(settings(), { credentials: s3.credentials })
  })

  afterEach(() => s3.close())

  it('keeps an image under its key, with its type', async () => {
    const name = namer()
    const result = await store.save({ ...image, name, source: inChunks(fixture('lossy.webp'), 100) })
    expect(result).to.deep.equal({ name: name('webp'), contentType: 'image/webp', bytes: fixture('lossy.webp').length })
    const object = s3.objects.get(`results/here/${name('webp')}`)!
    expect(object.bytes.equals(fixture('lossy.webp'))).to.equal(true)
    expect(object.contentType).to.equal('image/webp')
  })

  it('uploads a large video in parts while it arrives', async () => {
    const name = namer()
    const { bytes } = await store.save({ ...video, name, source: largeVideo(20 * MB) })
    const object = s3.objects.get(`results/here/${name('mp4')}`)!
    expect(object.bytes.length).to.equal(bytes)
    expect(object.bytes.at(-1)).to.equal(19)
    expect(s3.requests.filter(({ url }) => url.includes('partNumber')).length).to.be.greaterThan(2)
    expect(s3.uploads.size).to.equal(0)
  })

  it('shows nothing, and leaves no parts, of what turns out to be cut short', async () => {
    const name = namer()
    for (const source of [largeVideo(20 * MB, 12 * MB), inChunks(fixture('plain.mp4').subarray(0, -1))]) {
      expect(await failureOf(store.save({ ...video, name, source }))).to.be.instanceOf(MediaRefused)
    }
    expect(await failureOf(store.save({ ...image, name, source: inChunks(Buffer.from('<svg/>')) }))).to.be.instanceOf(
      MediaRefused,
    )
    expect([s3.objects.size, s3.uploads.size]).to.deep.equal([0, 0])
  })

  it('passes on the error of its source', async () => {
    const broke = new Error('the wire broke')
    const breaking = async function* () {
      yield* largeVideo(30 * MB, 10 * MB)
      throw broke
    }
    expect(await failureOf(store.save({ ...video, name: namer(), source: breaking() }))).to.equal(broke)
    expect([s3.objects.size, s3.uploads.size]).to.deep.equal([0, 0])
  })

  it('fails, and closes its source, when the bucket refuses the parts', async () => {
    s3.failOn((method, url) => method === 'PUT' && url.searchParams.has('partNumber'))
    let closed = () => {}
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const source = async function* () {
      try {
        yield* largeVideo(60 * MB)
      } finally {
        closed()
      }
    }
    expect(await failureOf(store.save({ ...video, name: namer(), source: source() }))).to.include({
      name: 'InternalError',
    })
    await isClosed
    expect(s3.objects.size).to.equal(0)
  })

  it('signs its requests: another secret is refused', async () => {
    const intruder = createMediaStore(settings(), { credentials: { ...s3.credentials, secretAccessKey: 'guessed' } })
    const error = await failureOf(intruder.save({ ...image, name: namer(), source: inChunks(fixture('rgb.png')) }))
    expect(error).to.include({ name: 'SignatureDoesNotMatch' })
    expect(s3.objects.size).to.equal(0)
  })

  it('removes a result, even one that is gone', async () => {
    const { name } = await store.save({ ...image, name: namer(), source: inChunks(fixture('rgb.png')) })
    await store.remove(name)
    await store.remove(name)
    expect(s3.objects.size).to.equal(0)
  })

  it('deletes what is older than the given days, over all pages, and only objects of its own', async () => {
    for (let at = 0; at < 7; at += 1) {
      const { name } = await store.save({ ...image, name: namer(), source: inChunks(fixture('rgb.png')) })
      s3.objects.get(`results/here/${name}`)!.modified = new Date(Date.now() - (at % 2 ? 29 : 31) * DAY_MS)
    }
    const old = { bytes: Buffer.alloc(1), contentType: 'text/plain', modified: new Date(0) }
    const others = [
      'results/here/README.txt',
      `results/hereafter/${namer()('png')}`,
      `results/here/deeper/${namer()('png')}`,
    ]
    for (const key of others) s3.objects.set(key, old)
    expect(await store.sweep(30)).to.equal(4)
    expect(s3.objects.size).to.equal(3 + others.length)
    for (const key of others) expect(s3.objects.has(key), key).to.equal(true)
  })

  it('ends uploads that a killed worker left a day ago', async () => {
    const upload = { contentType: 'video/mp4', parts: new Map<number, Buffer>() }
    s3.uploads.set('old', {
      ...upload,
      key: `results/here/${namer()('mp4')}`,
      initiated: new Date(Date.now() - 2 * DAY_MS),
    })
    s3.uploads.set('young', { ...upload, key: `results/here/${namer()('mp4')}`, initiated: new Date() })
    s3.uploads.set('foreign', { ...upload, key: 'elsewhere.mp4', initiated: new Date(0) })
    await store.sweep(30)
    expect([...s3.uploads.keys()]).to.have.members(['young', 'foreign'])
  })

  describe('reading', () => {
    it('gives an address at which anybody can read the result, for the given method', async () => {
      const { name } = await store.save({ ...image, name: namer(), source: inChunks(fixture('rgb.png')) })
      const reader = createMediaReader(settings(), { credentials: s3.credentials })
      for (const method of ['GET', 'HEAD'] as const) {
        const found = await reader.locate(name, method)
        if (found?.kind !== 'redirect') throw new Error('no redirect')
        const response = await fetch(found.url, { method })
        expect(response.status).to.equal(200)
        expect(response.headers.get('content-type')).to.equal('image/png')
        expect(response.headers.get('cache-control')).to.equal('private, max-age=3600')
        expect((await response.arrayBuffer()).byteLength).to.equal(method === 'GET' ? fixture('rgb.png').length : 0)
        const forged = found.url.replace(name, namer()('png'))
        expect((await fetch(forged, { method })).status).to.equal(403)
      }
    })

    it('distinguishes a missing result from an unavailable bucket', async () => {
      const reader = createMediaReader(settings(), { credentials: s3.credentials })
      expect(await reader.locate(namer()('png'), 'GET')).to.equal(null)
      s3.failOn((method) => method === 'HEAD')
      expect(await failureOf(reader.locate(namer()('png'), 'GET'))).to.be.instanceOf(Error)
    })
  })
})
