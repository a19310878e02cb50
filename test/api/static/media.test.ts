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

const VIDEO = fixture('plain.mp4')

const newName = (extension: MediaExtension): MediaName => mediaName('a secret', newId('call'), 0, extension)

type Listening = { origin: string; server: Server }

/** An application with only what media need. Returns its address. */
async function listen(reader: MediaReader): Promise<Listening> {
  const app = new Koa<RequestState>()
  app.use(errorHandler(pino({ level: 'silent' }), () => {}))
  const config = { APP_SECRET: 'of no use here', BASE_URL: 'http://localhost', TRUST_PROXY: 0 }
  const { dispatch, refuse } = createTable({
    config,
    limits: {},
    media: reader,
    providers: new Map(),
  } as unknown as WebDeps)
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
    const url = 'https://bucket.example/signed'
    const buckets = [
      () => Promise.resolve({ kind: 'redirect', url }),
      () => Promise.reject(new Error('the bucket is away')),
    ].map((locate) => listen({ locate } as unknown as MediaReader))
    const [there, away] = (await Promise.all(buckets)) as [Listening, Listening]
    const answers = await Promise.all([
      get(),
      get(video, { Range: 'bytes=0-9' }),
      get(video, { Range: `bytes=${VIDEO.length}-` }),
      get(newName('mp4')),
      fetch(`${there.origin}/media/${video}`, { redirect: 'manual' }),
      fetch(`${away.origin}/media/${video}`),
    ])
    for (const one of [there, away]) {
      one.server.closeAllConnections()
      one.server.close()
    }
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 206, 416, 404, 302, 503])
    expect(answers[4]!.headers.get('cache-control')).to.equal('private, max-age=300')
    expect(answers[4]!.headers.get('location')).to.equal(url)
    expect(Number(answers[5]!.headers.get('retry-after'))).to.be.greaterThan(0)
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

  const size = VIDEO.length
  const whole = ['bytes=', 'bytes=5-2', 'bytes=a-b', 'bytes=0-1,3-4', 'items=0-1', 'bytes=1.5-2', 'bytes=--1']
  const RANGES: [range: string, served: readonly [start: number, end: number] | 416 | 200][] = [
    ['bytes=0-0', [0, 0]],
    ['bytes=100-', [100, size - 1]],
    ['bytes=-100', [size - 100, size - 1]],
    ['bytes=0-99999999', [0, size - 1]],
    ['bytes=-99999999', [0, size - 1]],
    [`bytes=${size}-`, 416],
    ['bytes=-0', 416],
    ...whole.map((range): [string, 200] => [range, 200]),
  ]
  it('serves one range of bytes, 416 beyond the end, and the whole file for what it does not understand', async () => {
    for (const [range, served] of RANGES) {
      const response = await get(video, { range })
      const bytes = await bytesOf(response)
      if (typeof served === 'number') expect(response.status, range).to.equal(served)
      if (served === 416)
        expect(Object.fromEntries(response.headers), range).to.include({
          'content-range': `bytes */${size}`,
          'cache-control': 'no-store',
        })
      if (typeof served === 'number') continue
      const [start, end] = served
      expect([response.status, response.headers.get('content-range')]).to.deep.equal([
        206,
        `bytes ${start}-${end}/${size}`,
      ])
      expect(bytes.equals(VIDEO.subarray(start, end + 1)), range).to.equal(true)
    }
  })

  it('serves the whole file for a range of another version', async () => {
    const { headers } = await get()
    for (const [version, status] of [
      [headers.get('etag')!, 206],
      [headers.get('last-modified')!, 206],
      ['"older"', 200],
    ] as const)
      expect((await get(video, { range: 'bytes=0-1', 'if-range': version })).status, version).to.equal(status)
  })

  it('serves nothing outside the folder of results', async () => {
    const shard = mediaFile(video).slice(0, 2)
    for (const path of [
      '/media/../secret.png',
      '/media/..%2fsecret.png',
      '/media/..\\secret.png',
      `/media/${shard}/${video}`,
      `/media/${video}/..`,
      `/media/${video}%00`,
      '/media/.incoming',
      '/media/%ff',
      `/media/${video.toUpperCase()}`,
      `/media/${'a'.repeat(8000)}`,
    ])
      expect((await getRaw(path)).statusCode, path).to.equal(404)
    expect((await getRaw(`/media/${video}?any=thing`)).statusCode).to.equal(200)
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
})
