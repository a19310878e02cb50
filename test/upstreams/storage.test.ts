import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import { fixture } from '../workers/storage/media-files.ts'
import type { S3Server } from '../workers/storage/s3-server.ts'
import { startS3 } from '../workers/storage/s3-server.ts'
import { withChildWorker } from './support/child-worker.ts'
import { growthOf } from '../../scripts/harness/memory.ts'
import type { Scripted } from './support/scripted.ts'
import { startScripted } from './support/scripted.ts'
import { PRICES, FUNDS, aFundedAccount, ask, everyProtocol, modelEntry } from './support/targets.ts'

const MEGABYTE = 1024 * 1024
const DAY_MS = 86_400_000

/** A real video with so many megabytes of media after its header. */
function largeVideo(megabytes: number): Buffer {
  const whole = fixture('faststart.mp4')
  const head = whole.subarray(0, whole.indexOf('mdat') - 4)
  const data = Buffer.alloc(megabytes * MEGABYTE, 7)
  data.writeUInt32BE(data.length, 0)
  data.write('mdat', 4, 'latin1')
  return Buffer.concat([head, data])
}

describe('results in a bucket', function () {
  let s3: S3Server
  let scripted: Scripted
  let gateway: Gateway
  let account: TestAccount
  const variablesBefore: Record<string, string | undefined> = {}

  before(async () => {
    s3 = await startS3()
    scripted = await startScripted()
    // Operators set these variables of the SDK too.
    const variables = {
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    }
    for (const [name, value] of Object.entries(variables)) {
      variablesBefore[name] = process.env[name]
      process.env[name] = value
    }
    const settings = {
      LOG_LEVEL: 'fatal',
      STORAGE_URL: `s3://${s3.bucket}/results`,
      S3_ENDPOINT: s3.origin,
    }
    gateway = await startGateway(settings, (catalogue) => {
      everyProtocol(catalogue)
      catalogue.upstreams.scripted = { protocol: 'replicate', baseUrl: scripted.origin }
      catalogue.models.push(modelEntry('large-video', 'video', [{ upstream: 'scripted', model: 'some/video' }]))
    })
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await gateway.stop()
    await Promise.all([s3.close(), scripted.close()])
    for (const [name, value] of Object.entries(variablesBefore)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })

  const video = (prompt: string, model = 'replicate-video'): Promise<Reply> =>
    ask(gateway, account, { protocol: 'replicate', modality: 'video' }, prompt, { more: { model } })

  const addressOf = (reply: Reply): string => reply.json.data[0].url
  /** The address of a result, on the port of this test's web process. */
  const pathOf = (reply: Reply): string => `${gateway.url}${new URL(addressOf(reply)).pathname}`
  const keyOf = (reply: Reply): string => `results/${new URL(addressOf(reply)).pathname.split('/').at(-1)}`

  it('are read from a signed address, to which their own redirects', async () => {
    const reply = await video(prompted())
    expect(reply.status, reply.text).to.equal(200)
    expect(addressOf(reply)).to.match(new RegExp(`^${gateway.config.BASE_URL}/media/[\\w-]{32}\\.mp4$`))
    const stored = s3.objects.get(keyOf(reply))!
    expect(stored.contentType).to.equal('video/mp4')
    const redirect = await get(pathOf(reply))
    expect(redirect.status).to.equal(302)
    const signed = redirect.headers.get('location')!
    expect(signed).to.match(/X-Amz-Signature=/)
    const served = await fetch(signed)
    expect([served.status, served.headers.get('content-type')]).to.deep.equal([200, 'video/mp4'])
    expect(Buffer.from(await served.arrayBuffer()).equals(stored.bytes)).to.equal(true)
    expect((await fetch(signed.replace(/X-Amz-Signature=..../, 'X-Amz-Signature=0000'))).status).to.equal(403)
    expect(await recordOf(gateway.db, reply)).to.include({ resultUrl: addressOf(reply) })
  })

  it('are sent as bytes where an image call asks for them, until they are gone', async () => {
    const more = { response_format: 'b64_json', n: 2 }
    const target = { protocol: 'openai', modality: 'image' } as const
    const reply = await ask(gateway, account, target, prompted(), { more })
    expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
    const { resultUrls } = await recordOf(gateway.db, reply)
    const keys = resultUrls.map((url) => `results/${new URL(url).pathname.split('/').at(-1)}`)
    const stored = keys.map((key) => s3.objects.get(key)!.bytes.toString('base64'))
    expect(reply.json.data).to.deep.equal(stored.map((bytes) => ({ b64_json: bytes })))
    s3.objects.delete(keys[1]!)
    const again = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
    expect([again.status, again.json.error.type]).to.deep.equal([410, 'result_expired'])
  })

  it('pass through the worker in parts, in constant memory for every size', async function () {
    if (process.platform !== 'linux') this.skip()
    const file = largeVideo(160)
    const prompt = (): string => {
      const id = scripted.prompt((request, response) => {
        if (request.url!.startsWith('/file'))
          return void response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': file.length }).end(file)
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ id, status: 'succeeded', output: `${scripted.origin}/file/${id}` }))
      })
      return id
    }
    let reply: Reply | undefined
    const growth = await withChildWorker(gateway, async (worker) => {
      await video(prompted())
      return growthOf(worker.pid, async () => {
        reply = await video(prompt(), 'large-video')
      })
    })
    expect(reply!.status, reply!.text).to.equal(200)
    expect(s3.objects.get(keyOf(reply!))!.bytes.equals(file)).to.equal(true)
    expect(
      s3.requests.filter(({ url }) => url.includes('partNumber')),
      'parts of 8 MB',
    ).to.have.length.within(20, 21)
    expect(s3.uploads.size, 'uploads left open').to.equal(0)
    // Two parts of 8 MB, and the buffers of the SDK, the sockets and the garbage collector.
    expect(growth).to.be.below(150)
    // It stores hundreds of megabytes.
  }).timeout(150_000)

  it('wait for an unavailable bucket if the task can be collected again', async () => {
    let failures = 0
    s3.failOn((method) => method === 'PUT' && ++failures <= 4)
    const reply = await video(prompted('[duration 0.1]'))
    expect(reply.status, reply.text).to.equal(200)
    expect(failures).to.be.above(4)
    expect(s3.objects.has(keyOf(reply))).to.equal(true)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - PRICES.video)
  })

  it('are stored at a later try if the bucket was unavailable for a moment', async () => {
    let failures = 0
    // One more than the tries that the SDK makes by itself.
    s3.failOn((method) => method === 'PUT' && ++failures <= 4)
    const reply = await ask(gateway, account, { protocol: 'openai', modality: 'image' }, prompted())
    expect(reply.status, reply.text).to.equal(200)
    expect(failures).to.be.above(4)
    expect(s3.objects.has(keyOf(reply))).to.equal(true)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - PRICES.image)
  })

  it('are refunded as an internal failure if an image cannot be stored', async () => {
    s3.failOn((method) => method === 'PUT')
    const reply = await ask(gateway, account, { protocol: 'openai', modality: 'image' }, prompted())
    s3.failOn(() => false)
    expect(reply.status, reply.text).to.equal(500)
    expect(reply.json.error).to.include({ type: 'internal_error' })
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  it('are answered 503 while the bucket is unavailable, and 404 if they do not exist', async () => {
    const reply = await video(prompted())
    s3.failOn((method) => method === 'HEAD')
    expect((await get(pathOf(reply))).status).to.equal(503)
    s3.failOn(() => false)
    expect((await get(`${gateway.url}/media/${'x'.repeat(32)}.mp4`)).status).to.equal(404)
  })
})

describe('results on a disk', () => {
  it('are deleted by the reconciler when they are too old', async () => {
    const gateway = await startGateway({ MEDIA_TTL_DAYS: '2' }, everyProtocol)
    const account = await aFundedAccount(gateway)
    const [old, young] = await Promise.all(
      [1, 2].map(() => ask(gateway, account, { protocol: 'openai', modality: 'image' }, prompted())),
    )
    for (const reply of [old!, young!]) expect(reply.status, reply.text).to.equal(200)
    const pathOf = (reply: Reply): string => new URL(reply.json.data[0].url).pathname
    const folder = gateway.config.STORAGE_URL.replace('file:', '')
    const fileOf = (reply: Reply): string => {
      const name = pathOf(reply).split('/').at(-1)!
      return join(folder, name.slice(0, 2), name)
    }
    const threeDaysAgo = new Date(Date.now() - 3 * DAY_MS)
    utimesSync(fileOf(old!), threeDaysAgo, threeDaysAgo)
    await gateway.stopWorker()
    await gateway.startWorker()
    await until('the sweep', async () => (await get(`${gateway.url}${pathOf(old!)}`)).status === 404)
    expect((await get(`${gateway.url}${pathOf(young!)}`)).status).to.equal(200)
    expect(readdirSync(join(folder, '.incoming'))).to.deep.equal([])
    await gateway.stop()
  })
})
