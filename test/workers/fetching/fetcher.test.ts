import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import { createFetcher } from '../../../src/workers/fetching/fetcher.ts'
import type { Fetcher, FetcherSettings } from '../../../src/workers/fetching/fetcher.ts'
import { systemResolver } from '../../../src/workers/fetching/connections.ts'
import type { Resolver } from '../../../src/workers/fetching/connections.ts'
import type { DownloadOptions } from '../../../src/workers/fetching/download.ts'
import { FetchFailed } from '../../../src/workers/fetching/failure.ts'
import { MediaRefused } from '../../../src/workers/storage/refused.ts'
import { bytesOf, failureOf, fixture } from '../storage/media-files.ts'
import type { Listening } from './servers.ts'
import { listening, serve } from './servers.ts'

const signal = new AbortController().signal
const LOOPBACK = [{ address: '127.0.0.1', family: 4 }]
const PUBLIC = [{ address: '93.184.216.34', family: 4 }, { address: '2606:4700::1111', family: 6 }]

/** A resolver that gives one answer after the other, and the last one for ever. */
function answering(...answers: { address: string; family: number }[][]): Resolver & { asked: string[] } {
  const asked: string[] = []
  return Object.assign(async (hostname: string) => {
    asked.push(hostname)
    return answers[Math.min(asked.length, answers.length) - 1]!
  }, { asked })
}

describe('the fetcher', () => {
  const cleanUps: (() => Promise<unknown>)[] = []

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
  })

  async function server(handler: RequestListener = (_, response) => response.end('ok'), host?: string): Promise<Listening> {
    const started = await serve(handler, host)
    cleanUps.push(started.close)
    return started
  }

  function fetcherWith(settings: FetcherSettings = {}): Fetcher {
    const fetcher = createFetcher(settings)
    cleanUps.push(() => fetcher.close())
    return fetcher
  }

  /** Fetches everything behind an address, by default as a result of the upstream of that very origin. */
  async function fetchAll(url: string, options: Partial<DownloadOptions> = {}, fetcher = fetcherWith()): Promise<string> {
    const trustedOrigins = [new URL(url).origin]
    const { body } = await fetcher.download(url, { kind: 'image', trustedOrigins, signal, ...options })
    return (await bytesOf(body)).toString()
  }

  async function failed(work: Promise<unknown>): Promise<FetchFailed> {
    const error = await failureOf(work)
    expect(error, String(error)).to.be.instanceOf(FetchFailed)
    return error as FetchFailed
  }

  describe('at the configured origin of an upstream', () => {
    it('gives the bytes and what the server declares', async () => {
      const { origin } = await server((_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(fixture('rgb.png')))
      const { declaredType, body } = await fetcherWith().download(`${origin}/a.png`, { kind: 'image', trustedOrigins: [origin], signal })
      expect(declaredType).to.equal('image/png')
      expect((await bytesOf(body)).equals(fixture('rgb.png'))).to.equal(true)
    })

    it('sends its headers and asks for an uncompressed file', async () => {
      const { origin, requests } = await server()
      await fetchAll(`${origin}/a?b=c`, { headers: { authorization: 'Bearer secret' } })
      expect(requests[0]!.url).to.equal('/a?b=c')
      expect(requests[0]!.headers).to.include({ 'authorization': 'Bearer secret', 'accept-encoding': 'identity', 'user-agent': 'tollgate' })
    })

    it('resolves a name once and connects to that very answer', async () => {
      const canary = await server(undefined, '127.0.0.1')
      const resolver = answering(LOOPBACK, PUBLIC)
      expect(await fetchAll(`http://media.example.com:${canary.port}/`, {}, fetcherWith({ resolver }))).to.equal('ok')
      expect(resolver.asked).to.deep.equal(['media.example.com'])
      expect(canary.requests[0]!.headers['host']).to.equal(`media.example.com:${canary.port}`)
    })

    it('trusts that origin exactly: no other port, scheme or name of the same machine', async () => {
      const canary = await server()
      const other = await server()
      const fetcher = fetcherWith({ resolver: answering(LOOPBACK) })
      for (const origin of [other.origin, `https://127.0.0.1:${canary.port}`, `http://localhost:${canary.port}`, `http://a.example.com:${canary.port}`,
        `http://127.0.0.1`, canary.origin.slice(0, -1), '', 'null', '*']) {
        const options = { kind: 'image', trustedOrigins: [origin], signal } as const
        expect((await failed(fetcher.download(`${canary.origin}/`, options))).problem, origin).to.equal('refused')
      }
      expect(canary.connections() + other.connections()).to.equal(0)
    })
  })

  describe('everywhere else', () => {
    it('never connects to an address that is not public, however it is written', async () => {
      const canary = await server()
      const canary6 = await server(undefined, '::1')
      const fetcher = fetcherWith()
      for (const host of ['127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '①②⑦.0.0.1', '%31%32%37.0.0.1', '127.0.0.1.', '0', '0.0.0.0',
        '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', 'localhost', 'LOCALHOST.', 'x.localhost']) {
        for (const port of [canary.port, canary6.port]) {
          const error = await failed(fetcher.download(`http://${host}:${port}/`, { kind: 'image', signal }))
          expect(error, host).to.include({ problem: 'refused', retryable: false })
        }
      }
      expect(canary.connections() + canary6.connections()).to.equal(0)
    })

    it('never connects when a single answer for a name is not public', async () => {
      const canary = await server()
      for (const answers of [LOOPBACK, [...PUBLIC, ...LOOPBACK], [{ address: '::ffff:127.0.0.1', family: 6 }], [{ address: '::1', family: 6 }, ...PUBLIC]]) {
        const fetcher = fetcherWith({ resolver: answering(answers) })
        const error = await failed(fetcher.download(`http://evil.example.com:${canary.port}/`, { kind: 'image', signal }))
        expect(error.problem).to.equal('refused')
        expect(error.message).not.to.contain('127.0.0.1')
      }
      expect(canary.connections()).to.equal(0)
    })

    it('is not fooled by a name that is public when asked first and private when connected to', async () => {
      const canary = await server()
      const fetcher = fetcherWith({ resolver: answering(PUBLIC, LOOPBACK) })
      const url = `http://rebinding.example.com:${canary.port}/`
      expect(await fetcher.resolvesPublicly(url, signal)).to.equal('public')
      expect((await failed(fetcher.download(url, { kind: 'image', signal }))).problem).to.equal('refused')
      expect((await failed(fetcher.image(url, signal))).problem).to.equal('refused')
      expect(canary.connections()).to.equal(0)
    })

    it('does not use a connection that was opened to a trusted origin', async () => {
      const canary = await server()
      const fetcher = fetcherWith()
      await fetchAll(`${canary.origin}/`, {}, fetcher)
      expect((await failed(fetcher.download(`${canary.origin}/`, { kind: 'image', signal }))).problem).to.equal('refused')
      expect(canary.requests.length).to.equal(1)
    })

    it('takes http and https addresses only, without credentials', async () => {
      for (const url of ['file:///etc/passwd', 'ftp://example.com/', 'data:image/png;base64,AAAA', 'gopher://x.example.com', 'javascript:1', 'x', '',
        'http://user:secret@example.com/', 'https://user@example.com/']) {
        const error = await failed(fetcherWith().download(url, { kind: 'image', signal }))
        expect(error.problem, url).to.equal('refused')
        expect(error.message).not.to.contain('secret')
      }
    })

    it('says so when a name does not resolve', async () => {
      const resolver: Resolver = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      for (const fetcher of [fetcherWith({ resolver }), fetcherWith({ resolver: answering([]) })]) {
        const error = await failed(fetcher.download('http://nowhere.example.com/', { kind: 'image', signal }))
        expect(error).to.include({ problem: 'unresolved', retryable: true })
      }
    })
  })

  describe('redirects', () => {
    const redirecting = (location: string): RequestListener => (request, response) =>
      request.url === '/end' ? response.end('end') : response.writeHead(302, { location }).end()

    it('are followed three times, not four', async () => {
      const { origin, requests } = await server((request, response) => {
        const left = Number(request.url!.slice(1))
        if (left === 0) response.end('end')
        else response.writeHead([301, 302, 303, 307, 308][left]!, { location: `${left - 1}` }).end('elsewhere')
      })
      expect(await fetchAll(`${origin}/3`)).to.equal('end')
      expect((await failed(fetchAll(`${origin}/4`))).problem).to.equal('refused')
      expect(requests.length).to.equal(8)
    })

    it('lead to no private address, not even from a trusted origin', async () => {
      const canary = await server()
      for (const location of [`${canary.origin}/`, `//127.0.0.1:${canary.port}/`, `http://localhost:${canary.port}/`, `http://[::ffff:7f00:1]:${canary.port}/`,
        `http://name.example.com:${canary.port}/`]) {
        const { origin } = await server(redirecting(location))
        const error = await failed(fetchAll(`${origin}/`, {}, fetcherWith({ resolver: answering(LOOPBACK) })))
        expect(error.problem, location).to.equal('refused')
      }
      expect(canary.connections()).to.equal(0)
    })

    it('lead to http(s) only, without credentials', async () => {
      for (const location of ['file:///etc/passwd', 'ftp://example.com/', 'data:image/png;base64,AAAA', 'http://a:b@example.com/', 'http://']) {
        const { origin } = await server(redirecting(location))
        expect((await failed(fetchAll(`${origin}/`))).problem, location).to.equal('refused')
      }
    })

    it('carry headers within the origin, and never to another one or back from it', async () => {
      const other = await server((_, response) => response.writeHead(302, { location: `${upstream.origin}/end` }).end())
      const upstream = await server((request, response) => {
        const location = { '/inside': '/outside', '/outside': `${other.origin}/` }[request.url!]
        if (location) response.writeHead(307, { location }).end()
        else response.end('end')
      })
      const options = { headers: { authorization: 'Bearer secret' }, trustedOrigins: [upstream.origin, other.origin] }
      expect(await fetchAll(`${upstream.origin}/inside`, options)).to.equal('end')
      expect(upstream.requests.map(({ headers }) => headers['authorization'])).to.deep.equal(['Bearer secret', 'Bearer secret', undefined])
      expect(other.requests[0]!.headers['authorization']).to.equal(undefined)
    })

    it('are an ordinary refusal where they lead nowhere', async () => {
      const { origin } = await server((_, response) => response.writeHead(304).end())
      expect(await failed(fetchAll(`${origin}/`))).to.include({ problem: 'status', status: 304, retryable: false })
    })

    it('never lead from https to http', async () => {
      const tls = createRequire(import.meta.url)('smtp-server/lib/tls-options.js') as () => object
      const canary = await server()
      const secure = await listening(createTlsServer(tls(), redirecting(`${canary.origin}/`)), '127.0.0.1', 'https')
      cleanUps.push(secure.close)
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
      try {
        const error = await failed(fetchAll(`${secure.origin}/`, { trustedOrigins: [secure.origin, canary.origin] }))
        expect(error.message).to.match(/from https to http/)
        expect(canary.connections()).to.equal(0)
      } finally {
        delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      }
    })
  })

  it('refuses a certificate that nobody vouches for', async () => {
    const tls = createRequire(import.meta.url)('smtp-server/lib/tls-options.js') as () => object
    const secure = await listening(createTlsServer(tls(), (_, response) => response.end('ok')), '127.0.0.1', 'https')
    cleanUps.push(secure.close)
    expect(await failed(fetchAll(`${secure.origin}/`))).to.include({ problem: 'untrusted', retryable: false })
    expect(secure.requests.length).to.equal(0)
  })

  describe('limits', () => {
    it('refuses a file that announces more bytes than allowed, without reading it', async () => {
      const { origin } = await server((_, response) => response.writeHead(200, { 'content-length': '101' }).end(Buffer.alloc(101)))
      expect((await failed(fetchAll(`${origin}/`, { maxBytes: 100 }))).problem).to.equal('too_large')
      expect(await fetchAll(`${origin}/`, { maxBytes: 101 })).to.have.length(101)
    })

    it('stops at the limit when nothing is announced, and closes the connection', async () => {
      let closed: Promise<unknown> = Promise.resolve()
      const { origin } = await server((_, response) => {
        closed = once(response, 'close')
        const pump = () => {
          while (response.write(Buffer.alloc(65_536))) { /* as long as somebody reads */ }
        }
        response.on('drain', pump)
        pump()
      })
      expect((await failed(fetchAll(`${origin}/`, { maxBytes: 1_000_000 }))).problem).to.equal('too_large')
      await closed
    })

    it('takes no compressed file: what it unpacks to could be any size', async () => {
      for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip']) {
        const { origin } = await server((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end('x'))
        expect((await failed(fetchAll(`${origin}/`))).message, encoding).to.match(/compressed/)
      }
      const { origin } = await server((_, response) => response.writeHead(200, { 'content-encoding': 'identity' }).end('x'))
      expect(await fetchAll(`${origin}/`)).to.equal('x')
    })

    it('takes status 200 alone, and tells which others may pass', async () => {
      for (const [status, retryable] of [[204, false], [206, false], [400, false], [401, false], [403, false], [404, false], [408, true],
        [410, false], [425, true], [429, true], [500, true], [502, true], [503, true]] as const) {
        const { origin } = await server((_, response) => response.writeHead(status).end())
        expect(await failed(fetchAll(`${origin}/`))).to.include({ problem: 'status', status, retryable })
      }
    })

    it('waits only so long for a connection, the first byte, the next byte, and all of it', async () => {
      const hang: Resolver = () => new Promise(() => {})
      const connecting = failed(fetchAll('http://slow.example.com/', {}, fetcherWith({ resolver: hang, timeouts: { connect: 40 } })))
      const silent = await server(() => {})
      const first = failed(fetchAll(`${silent.origin}/`, {}, fetcherWith({ timeouts: { firstByte: 40 } })))
      const stuck = await server((_, response) => response.write('a'))
      const idle = failed(fetchAll(`${stuck.origin}/`, {}, fetcherWith({ timeouts: { idle: 40 } })))
      const slow = await server((_, response) => {
        const timer = setInterval(() => response.write('a'), 5)
        response.once('close', () => clearInterval(timer))
      })
      const total = failed(fetchAll(`${slow.origin}/`, {}, fetcherWith({ timeouts: { total: 60 } })))
      expect(await connecting).to.include({ problem: 'unreachable', retryable: true })
      for (const waiting of [first, idle, total]) expect(await waiting).to.include({ problem: 'timeout', retryable: true })
    })
  })

  it('never passes off a broken transfer as a whole one', async () => {
    const handlers: RequestListener[] = [
      (_, response) => response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy()),
      (_, response) => response.write('half', () => response.destroy()),
      (request) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
      (request) => request.socket.end('this is no HTTP\r\n\r\n'),
      (request) => request.socket.destroy(),
    ]
    for (const handler of handlers) {
      const { origin } = await server(handler)
      expect(await failed(fetchAll(`${origin}/`))).to.include({ problem: 'broken', retryable: true })
    }
  })

  it('says so when nobody listens', async () => {
    const gone = await serve(() => {})
    await gone.close()
    expect(await failed(fetchAll(`${gone.origin}/`))).to.include({ problem: 'unreachable', retryable: true })
  })

  describe('when it is no longer wanted', () => {
    it('ends with the reason of the signal, before and during everything', async () => {
      const reason = new Error('the deadline of the call')
      const { origin } = await server((request, response) => request.url === '/body' ? response.write('a') : undefined)
      expect(await failureOf(fetchAll(`${origin}/`, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
      for (const path of ['/head', '/body']) {
        const controller = new AbortController()
        const work = failureOf(fetchAll(`${origin}${path}`, { signal: controller.signal }))
        setImmediate(() => controller.abort(reason))
        expect(await work).to.equal(reason)
      }
      const hang: Resolver = () => new Promise(() => {})
      const controller = new AbortController()
      const looking = failureOf(fetchAll('http://slow.example.com/', { signal: controller.signal }, fetcherWith({ resolver: hang })))
      controller.abort(reason)
      expect(await looking).to.equal(reason)
    })

    it('closes the connection of a body that is given up, read or unread', async () => {
      for (const reads of [0, 1]) {
        let closed: Promise<unknown> = Promise.resolve()
        const { origin } = await server((_, response) => {
          closed = once(response, 'close')
          response.write('a')
        })
        const { body } = await fetcherWith().download(`${origin}/`, { kind: 'video', trustedOrigins: [origin], signal })
        for (let read = 0; read < reads; read += 1) await body.next()
        await body.return()
        await closed
      }
    })
  })

  describe('image', () => {
    it('decodes a data URI and tells its type by its bytes', async () => {
      const uri = `data:image/gif;base64,${fixture('rgb.png').toString('base64')}`
      const image = await fetcherWith().image(uri, signal)
      expect([image.contentType, image.extension]).to.deep.equal(['image/png', 'png'])
      expect(fixture('rgb.png').equals(image.bytes)).to.equal(true)
    })

    it('refuses what is no complete image', async () => {
      for (const bytes of [Buffer.from('<svg/>'), fixture('rgb.png').subarray(0, -5), fixture('plain.mp4')]) {
        const uri = `data:image/png;base64,${bytes.toString('base64')}`
        expect(await failureOf(fetcherWith().image(uri, signal))).to.be.instanceOf(MediaRefused)
      }
    })

    it('trusts no origin', async () => {
      const canary = await server((_, response) => response.end(fixture('rgb.png')))
      expect((await failed(fetcherWith().image(`${canary.origin}/`, signal))).problem).to.equal('refused')
      expect(canary.connections()).to.equal(0)
    })
  })

  describe('resolvesPublicly', () => {
    it('tells where an address leads', async () => {
      const cases: [string, Resolver, string][] = [
        ['https://cdn.example.com/a.png', answering(PUBLIC), 'public'],
        ['https://8.8.8.8/a.png', answering(LOOPBACK), 'public'],
        [`data:image/png;base64,AAAA`, answering(LOOPBACK), 'public'],
        ['https://cdn.example.com/a.png', answering(LOOPBACK), 'private'],
        ['https://cdn.example.com/a.png', answering([...PUBLIC, { address: '10.0.0.1', family: 4 }]), 'private'],
        ['https://cdn.example.com/a.png', answering([{ address: '169.254.169.254', family: 4 }]), 'private'],
        ['http://127.1/a.png', answering(PUBLIC), 'private'],
        ['http://localhost/a.png', answering(PUBLIC), 'private'],
        ['ftp://cdn.example.com/a.png', answering(PUBLIC), 'private'],
        ['https://cdn.example.com/a.png', answering([]), 'unresolved'],
        ['https://cdn.example.com/a.png', () => Promise.reject(Object.assign(new Error('again'), { code: 'EAI_AGAIN' })), 'unresolved'],
        ['https://cdn.example.com/a.png', () => new Promise(() => {}), 'unresolved'],
      ]
      for (const [url, resolver, expected] of cases) {
        expect(await fetcherWith({ resolver, timeouts: { connect: 30 } }).resolvesPublicly(url, signal), url).to.equal(expected)
      }
    })

    it('ends with the reason of the signal', async () => {
      const reason = new Error('stop')
      const hang: Resolver = () => new Promise(() => {})
      const controller = new AbortController()
      const work = failureOf(fetcherWith({ resolver: hang }).resolvesPublicly('https://cdn.example.com/', controller.signal))
      controller.abort(reason)
      expect(await work).to.equal(reason)
    })
  })

  it('asks the resolver of the machine by default', async () => {
    expect((await systemResolver('localhost')).map(({ address }) => address)).to.satisfy((found: string[]) =>
      found.length > 0 && found.every((address) => ['127.0.0.1', '::1'].includes(address)))
  })
})
