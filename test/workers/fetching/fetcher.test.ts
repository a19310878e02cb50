import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import { systemResolver } from '../../../src/workers/fetching/connections.ts'
import type { Resolver } from '../../../src/workers/fetching/connections.ts'
import { MAX_REFERENCE_BYTES } from '../../../src/workers/fetching/call-images.ts'
import { until } from '../../../scripts/harness/until.ts'
import { bytesOf, failureOf, fixture } from '../storage/media-files.ts'
import { LOOPBACK, PUBLIC, answering, failed, imageOf, signal, useFetchers, withImages } from './harness.ts'
import { BOMBS, large } from '../storage/bombs.ts'

const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === '::1')

/** Spellings of this machine. */
const LOOPBACK_HOSTS = (
  '127.0.0.1 127.1 0x7f.1 0177.0.0.1 2130706433 ①②⑦.0.0.1 %31%32%37.0.0.1 127.0.0.1. 0 0.0.0.0 [::1] ' +
  '[::] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::] localhost LOCALHOST. ' +
  'x.localhost'
).split(' ')

const NO_WEB_ADDRESSES = (
  'file:///etc/passwd ftp://example.com/ data:image/png;base64,AAAA gopher://x.example.com ' +
  'javascript:1 x http://user:secret@example.com/ https://user@example.com/'
).split(' ')

describe('the fetcher', () => {
  const { server, fetcherWith, fetchAll } = useFetchers()

  describe('at the configured origin of an upstream', () => {
    it('returns the bytes and what the server declares', async () => {
      const { origin } = await server((_, response) =>
        response.writeHead(200, { 'content-type': 'image/png' }).end(fixture('rgb.png')),
      )
      const { declaredType, body } = await fetcherWith().download(`${origin}/a.png`, {
        kind: 'image',
        trustedOrigins: [origin],
        signal,
      })
      expect(declaredType).to.equal('image/png')
      expect((await bytesOf(body)).equals(fixture('rgb.png'))).to.equal(true)
    })

    it('sends its headers and requests an uncompressed file', async () => {
      const { origin, requests } = await server()
      await fetchAll(`${origin}/a?b=c`, { headers: { authorization: 'Bearer secret' } })
      expect(requests[0]!.url).to.equal('/a?b=c')
      expect(requests[0]!.headers).to.include({
        authorization: 'Bearer secret',
        'accept-encoding': 'identity',
        'user-agent': 'tollgate',
      })
    })

    it('resolves a name once and connects to that address', async () => {
      const canary = await server(undefined, '127.0.0.1')
      const resolver = answering(LOOPBACK, PUBLIC)
      const fetcher = fetcherWith({ upstreamResolver: resolver })
      expect(await fetchAll(`http://media.example.com:${canary.port}/`, {}, fetcher)).to.equal('ok')
      expect(resolver.asked).to.deep.equal(['media.example.com'])
      expect(canary.requests[0]!.headers['host']).to.equal(`media.example.com:${canary.port}`)
    })

    it('trusts exactly that origin: no other port, scheme or name of the same machine', async () => {
      const canary = await server()
      const other = await server()
      const fetcher = fetcherWith({ resolver: answering(LOOPBACK), upstreamResolver: answering(LOOPBACK) })
      for (const origin of [
        other.origin,
        `https://127.0.0.1:${canary.port}`,
        `http://localhost:${canary.port}`,
        `http://a.example.com:${canary.port}`,
        `http://127.0.0.1`,
        canary.origin.slice(0, -1),
        '',
        'null',
        '*',
      ]) {
        const options = { kind: 'image', trustedOrigins: [origin], signal } as const
        expect((await failed(fetcher.download(`${canary.origin}/`, options))).problem, origin).to.equal('refused')
      }
      expect(canary.connections() + other.connections()).to.equal(0)
    })
  })

  describe('everywhere else', () => {
    it('never connects to an address that is not public, however it is written', async () => {
      const canary = await server()
      const canary6 = HAS_IPV6 ? await server(undefined, '::1') : canary
      const fetcher = fetcherWith()
      for (const host of LOOPBACK_HOSTS) {
        for (const port of [canary.port, canary6.port]) {
          const error = await failed(fetcher.download(`http://${host}:${port}/`, { kind: 'image', signal }))
          expect(error, host).to.include({ problem: 'refused', retryable: false })
        }
      }
      expect(canary.connections() + canary6.connections()).to.equal(0)
    })

    it('never connects when a single answer for a name is not public', async () => {
      const canary = await server()
      for (const answers of [
        LOOPBACK,
        [...PUBLIC, ...LOOPBACK],
        [{ address: '::ffff:127.0.0.1', family: 6 }],
        [{ address: '::1', family: 6 }, ...PUBLIC],
      ]) {
        const fetcher = fetcherWith({ resolver: answering(answers) })
        const error = await failed(
          fetcher.download(`http://evil.example.com:${canary.port}/`, { kind: 'image', signal }),
        )
        expect(error.problem).to.equal('refused')
        expect(error.message).not.to.contain('127.0.0.1')
      }
      expect(canary.connections()).to.equal(0)
    })

    it('refuses a name that resolves to a private address at the connection', async () => {
      const canary = await server()
      const resolver = answering(PUBLIC, LOOPBACK)
      const fetcher = fetcherWith({ resolver, timeouts: { connect: 200 } })
      const url = `http://rebinding.example.com:${canary.port}/`
      await withImages(fetcher, signal, (images) => images.check([url]))
      expect((await failed(imageOf(fetcher, url, signal))).problem, 'at the checked address').to.equal('unreachable')
      expect(resolver.asked.length).to.equal(1)
      expect((await failed(fetcher.download(url, { kind: 'image', signal }))).problem).to.equal('refused')
      expect((await failed(imageOf(fetcher, url, new AbortController().signal))).problem, 'another call').to.equal(
        'refused',
      )
      expect(canary.connections()).to.equal(0)
    })

    it('does not use a connection that was opened to a trusted origin', async () => {
      const canary = await server()
      const fetcher = fetcherWith()
      await fetchAll(`${canary.origin}/`, {}, fetcher)
      expect((await failed(fetcher.download(`${canary.origin}/`, { kind: 'image', signal }))).problem).to.equal(
        'refused',
      )
      expect(canary.requests.length).to.equal(1)
    })

    it('accepts only http and https addresses without credentials', async () => {
      for (const url of ['', ...NO_WEB_ADDRESSES]) {
        const error = await failed(fetcherWith().download(url, { kind: 'image', signal }))
        expect(error.problem, url).to.equal('refused')
        expect(error.message).not.to.contain('secret')
      }
    })

    it('reports a name that does not resolve', async () => {
      const resolver: Resolver = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      for (const fetcher of [fetcherWith({ resolver }), fetcherWith({ resolver: answering([]) })]) {
        const error = await failed(fetcher.download('http://nowhere.example.com/', { kind: 'image', signal }))
        expect(error).to.include({ problem: 'unresolved', retryable: true })
      }
    })
  })

  describe('image', () => {
    it('decodes a data URI and detects its type by its bytes', async () => {
      const uri = `data:image/gif;base64,${fixture('rgb.png').toString('base64')}`
      const image = await imageOf(fetcherWith(), uri, signal)
      expect([image.contentType, image.extension]).to.deep.equal(['image/png', 'png'])
      expect(fixture('rgb.png').equals(Buffer.concat(image.pieces))).to.equal(true)
    })

    it('is at most 20 MB', async () => {
      const bytes = Buffer.concat([fixture('rgb.png'), Buffer.alloc(MAX_REFERENCE_BYTES)])
      const uri = `data:image/png;base64,${bytes.toString('base64')}`
      expect(await failureOf(imageOf(fetcherWith(), uri, signal))).to.include({ reason: 'too_large' })
    })

    it('waits while the images in use need too much memory, those of its account or of all', async () => {
      const size = 200_000
      const fetcher = fetcherWith({ referenceBytes: MAX_REFERENCE_BYTES + size })
      const uris = [large(size), large(MAX_REFERENCE_BYTES - size), large(size)]
      const order: number[] = []
      const ends: (() => void)[] = []
      const uses = uris.map((uri, at) =>
        withImages(
          fetcher,
          signal,
          async (images) => {
            await images.fetch([uri])
            order.push(at)
            await new Promise<void>((resolve) => {
              ends.push(resolve)
            })
          },
          at < 2 ? 'one' : 'other',
        ),
      )
      await until('three in use', () => order.length === 3)
      const own = imageOf(fetcher, large(size), AbortSignal.timeout(50), 'one')
      expect(await failureOf(own), 'all of its account').to.include({ name: 'TimeoutError' })
      const all = imageOf(fetcher, large(size), AbortSignal.timeout(50), 'a third')
      expect(await failureOf(all), 'all of the process').to.include({ name: 'TimeoutError' })
      for (const end of ends) end()
      await Promise.all(uses)
      await imageOf(fetcher, large(size), signal, 'one')
    })

    it('is refused by its header where it would unpack to more than 64 MB', async () => {
      const startedAt = process.cpuUsage()
      for (const bytes of BOMBS) {
        const uri = `data:image/png;base64,${bytes.toString('base64')}`
        expect(await failureOf(imageOf(fetcherWith(), uri, signal))).to.include({ reason: 'too_large' })
      }
      expect(process.cpuUsage(startedAt).user / 1000, 'ms of CPU').to.be.below(1000)
    })

    it('is not tried where too many of its account have failed in the last minute', async () => {
      const fetcher = fetcherWith({ mostFailures: 3 })
      const broken = `data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}`
      const whole = `data:image/png;base64,${fixture('rgb.png').toString('base64')}`
      for (let nth = 0; nth < 3; nth++)
        expect(await failureOf(imageOf(fetcher, broken, signal))).to.include({ reason: 'unsupported_type' })
      expect((await failed(imageOf(fetcher, whole, signal))).problem).to.equal('too_many')
      expect((await imageOf(fetcher, whole, signal, 'another account')).extension).to.equal('png')
    })
  })

  it("uses the machine's resolver for the names of upstreams", async () => {
    expect((await systemResolver('localhost', signal)).map(({ address }) => address)).to.satisfy(
      (found: string[]) => found.length > 0 && found.every((address) => ['127.0.0.1', '::1'].includes(address)),
    )
  })
})
