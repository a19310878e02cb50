import { once } from 'node:events'
import { request as rawRequest } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, OutgoingHttpHeaders, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import Koa from 'koa'
import { pino } from 'pino'
import type { Browser } from 'playwright-core'
import type { WebDeps } from '../../../src/api/deps.ts'
import { errorHandler } from '../../../src/api/middleware/error-handler.ts'
import type { RequestState } from '../../../src/api/middleware/request-context.ts'
import { createTable } from '../../../src/api/endpoint/router.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { MediaExtension, MediaName } from '../../../src/shared/media/media.ts'
import { mediaFile, mediaName } from '../../../src/shared/media/media.ts'
import type { MediaReader } from '../../../src/shared/media/reader.ts'
import { createMediaReader } from '../../../src/shared/media/reader.ts'
import { createMediaStore } from '../../../src/workers/storage/create-store.ts'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
import { fixture, inChunks } from '../../workers/storage/media-files.ts'
import type { S3Server } from '../../workers/storage/s3-server.ts'
import { startS3 } from '../../workers/storage/s3-server.ts'

const VIDEO = fixture('plain.mp4')

const newName = (extension: MediaExtension): MediaName => mediaName('a secret', newId('call'), 0, extension)

/** An application with only what media need. Returns its address. */
async function listen(reader: MediaReader): Promise<{ origin: string; server: Server }> {
  const app = new Koa<RequestState>()
  app.use(errorHandler(pino({ level: 'silent' }), () => {}))
  const config = { APP_SECRET: 'of no use here', BASE_URL: 'http://localhost', TRUST_PROXY: 0 }
  const { dispatch, refuse } = createTable({ config, limits: {}, media: reader } as unknown as WebDeps)
  app.use(dispatch).use(refuse)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

describe('GET /media/:name', () => {
  let folder: string
  let origin: string
  let server: Server
  let video: MediaName

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-media-'))
    const settings = { STORAGE_URL: `file:${folder}/media` }
    video = newName('mp4')
    await createMediaStore(settings).save({ kind: 'video', maxBytes: 1e6, name: () => video, source: inChunks(VIDEO) })
    await writeFile(join(folder, 'secret.png'), 'not for the world')
    ;({ origin, server } = await listen(createMediaReader(settings)))
  })

  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true, force: true })
  })

  const get = (name: string = video, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${origin}/media/${name}`, { method, headers, redirect: 'manual' })

  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

  /** Sends a path and headers as they are: `fetch` would normalize the path and add `no-cache`. */
  async function getRaw(path: string, headers: OutgoingHttpHeaders = {}): Promise<IncomingMessage> {
    const request = rawRequest(origin, { path, headers }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response.resume()
  }

  it('lets pages of any origin read every answer: results, redirects to a bucket, and refusals', async () => {
    const bucket = await listen({
      locate: () => Promise.resolve({ kind: 'redirect', url: 'https://bucket.example/signed' }),
    } as unknown as MediaReader)
    const answers = await Promise.all([
      get(),
      get(video, { Range: 'bytes=0-9' }),
      get(video, { Range: `bytes=${VIDEO.length}-` }),
      get(newName('mp4')),
      fetch(`${bucket.origin}/media/${video}`, { redirect: 'manual' }),
    ])
    bucket.server.closeAllConnections()
    bucket.server.close()
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 206, 416, 404, 302])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(headers.get('cross-origin-resource-policy')).to.equal('cross-origin')
    }
  })

  it('serves the bytes with their type, and with headers that make them harmless', async () => {
    const response = await get()
    expect(response.status).to.equal(200)
    expect((await bytesOf(response)).equals(VIDEO)).to.equal(true)
    expect(Object.fromEntries(response.headers)).to.include({
      'content-type': 'video/mp4',
      'content-length': String(VIDEO.length),
      'content-disposition': `inline; filename="${video}"`,
      'content-security-policy':
        "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=86400, immutable',
      'accept-ranges': 'bytes',
    })
    expect(response.headers.get('etag')).to.match(/^"[\w-]+"$/)
    expect(Date.parse(response.headers.get('last-modified')!)).to.be.closeTo(Date.now(), 60_000)
  })

  it('answers HEAD like GET, without the bytes', async () => {
    const [head, whole] = [await get(video, {}, 'HEAD'), await get()]
    for (const header of [
      'content-type',
      'content-length',
      'etag',
      'last-modified',
      'cache-control',
      'content-security-policy',
    ]) {
      expect(head.headers.get(header), header).to.equal(whole.headers.get(header))
    }
    expect((await bytesOf(head)).length).to.equal(0)
  })

  it('answers 304 to a client that has it', async () => {
    const first = await get()
    const [etag, modified] = [first.headers.get('etag')!, first.headers.get('last-modified')!]
    for (const headers of [
      { 'if-none-match': etag },
      { 'if-none-match': `"other", ${etag}` },
      { 'if-modified-since': modified },
    ]) {
      const response = await getRaw(`/media/${video}`, headers)
      expect(response.statusCode).to.equal(304)
      expect(response.headers).to.include({ etag, 'cache-control': 'private, max-age=86400, immutable' })
      expect(response.headers).not.to.have.any.keys('content-length', 'content-type')
    }
    expect((await getRaw(`/media/${video}`, { 'if-none-match': '"other"' })).statusCode).to.equal(200)
  })

  it('serves one range of bytes', async () => {
    const size = VIDEO.length
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=0-99', 0, 99],
      ['bytes=100-', 100, size - 1],
      ['bytes=-100', size - 100, size - 1],
      ['bytes=0-99999999', 0, size - 1],
      ['bytes=-99999999', 0, size - 1],
      [`bytes=${size - 1}-`, size - 1, size - 1],
    ] as const) {
      const response = await get(video, { range })
      expect(response.status, range).to.equal(206)
      expect(response.headers.get('content-range')).to.equal(`bytes ${start}-${end}/${size}`)
      expect(response.headers.get('content-length')).to.equal(String(end - start + 1))
      expect(response.headers.get('content-type')).to.equal('video/mp4')
      expect((await bytesOf(response)).equals(VIDEO.subarray(start, end + 1)), range).to.equal(true)
    }
  })

  it('answers 416 to a range beyond the end', async () => {
    for (const range of [`bytes=${VIDEO.length}-`, 'bytes=99999999-', 'bytes=-0']) {
      const response = await get(video, { range })
      expect(response.status, range).to.equal(416)
      expect(response.headers.get('content-range')).to.equal(`bytes */${VIDEO.length}`)
      expect(response.headers.get('cache-control')).to.equal('no-store')
      expect((await bytesOf(response)).length).to.equal(0)
    }
  })

  it('serves the whole file for a range that it does not understand, and for another version', async () => {
    for (const range of [
      'bytes=',
      'bytes=-',
      'bytes=5-2',
      'bytes=a-b',
      'bytes=0-1,3-4',
      'items=0-1',
      '0-1',
      'bytes=1.5-2',
      'bytes=--1',
    ]) {
      expect((await get(video, { range })).status, range).to.equal(200)
    }
    const first = await get()
    const [etag, modified] = [first.headers.get('etag')!, first.headers.get('last-modified')!]
    expect((await get(video, { range: 'bytes=0-1', 'if-range': etag })).status).to.equal(206)
    expect((await get(video, { range: 'bytes=0-1', 'if-range': modified })).status).to.equal(206)
    expect((await get(video, { range: 'bytes=0-1', 'if-range': '"older"' })).status).to.equal(200)
  })

  it("answers 404 in the gateway's form to everything else", async () => {
    const response = await get(newName('png'))
    expect(response.status).to.equal(404)
    expect(response.headers.get('content-type')).to.match(/^application\/json/)
    const { ok, error } = (await response.json()) as { ok: boolean; error: Record<string, unknown> }
    expect(ok).to.equal(false)
    expect(error).to.include({ type: 'not_found', code: 'not_found', param: null })
    expect(error['message']).to.be.a('string')
  })

  it('serves nothing outside the folder of results', async () => {
    const shard = mediaFile(video).slice(0, 2)
    for (const path of [
      '/media/',
      '/media/../secret.png',
      '/media/..%2fsecret.png',
      '/media/%2e%2e/secret.png',
      '/media/....//secret.png',
      '/media/..\\secret.png',
      `/media/${shard}`,
      `/media/${shard}/${video}`,
      `/media/${video}/`,
      `/media/${video}/..`,
      `/media//${video}`,
      `/media/${video}%00`,
      `/media/%00${video}`,
      '/media/.incoming',
      '/media/%',
      '/media/%ff',
      `/media/${video.replace('.mp4', '.html')}`,
      `/media/${video.toUpperCase()}`,
      '/media/__proto__',
      `/media/${'a'.repeat(8000)}`,
      `/${video}`,
    ]) {
      expect((await getRaw(path)).statusCode, path).to.equal(404)
    }
    expect((await getRaw(`/media/${video}?any=thing`)).statusCode).to.equal(200)
  })

  it('answers 405 to other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const response = await get(video, {}, method)
      expect(response.status).to.equal(405)
      expect(response.headers.get('allow')).to.equal('GET, HEAD')
    }
  })

  describe('opened by its address', () => {
    let browser: Browser

    before(async function () {
      browser = await openBrowser(this)
    })
    after(closeBrowser)

    it('is shown or played by a browser despite its policy', async () => {
      const clip = newName('webm')
      const settings = { STORAGE_URL: `file:${folder}/media` }
      const source = inChunks(fixture('plain.webm'))
      await createMediaStore(settings).save({ kind: 'video', maxBytes: 1e6, name: () => clip, source })
      const { page, faults, close } = await openPage(browser, origin)
      await page.goto(`${origin}/media/${clip}`)
      await page.waitForFunction('document.querySelector("video").readyState === 4')
      expect(faults).to.deep.equal([])
      await close()
    })
  })

  describe('of a bucket', () => {
    let s3: S3Server
    let image: MediaName

    beforeEach(async () => {
      s3 = await startS3()
      const settings = { STORAGE_URL: `s3://${s3.bucket}`, S3_ENDPOINT: s3.origin }
      const access = { credentials: s3.credentials }
      image = newName('png')
      await createMediaStore(settings, access).save({
        kind: 'image',
        maxBytes: 1e6,
        name: () => image,
        source: inChunks(fixture('rgb.png')),
      })
      server.close()
      ;({ origin, server } = await listen(createMediaReader(settings, access)))
    })

    afterEach(() => s3.close())

    it('sends the client to a signed address, for GET and HEAD', async () => {
      for (const method of ['GET', 'HEAD']) {
        const response = await get(image, {}, method)
        expect(response.status).to.equal(302)
        expect(response.headers.get('cache-control')).to.equal('private, max-age=300')
        const followed = await fetch(response.headers.get('location')!, { method })
        expect(followed.status).to.equal(200)
        expect(followed.headers.get('content-type')).to.equal('image/png')
        expect((await bytesOf(followed)).length).to.equal(method === 'GET' ? fixture('rgb.png').length : 0)
      }
    })

    it('answers 404 for what the bucket does not have, and 503 while the bucket is unavailable', async () => {
      expect((await get(newName('png'))).status).to.equal(404)
      s3.failOn(() => true)
      const response = await get(image)
      expect(response.status).to.equal(503)
      expect(((await response.json()) as { error: { type: string } }).error.type).to.equal('service_unavailable')
      expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0)
    })
  })
})
