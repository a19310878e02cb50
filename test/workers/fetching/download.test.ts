import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import { failureOf } from '../storage/media-files.ts'
import { LOOPBACK, answering, failed, hanging, signal, useFetchers } from './harness.ts'
import { listening, serve } from './servers.ts'

/** A key and a self-signed certificate for tests. */
const untrustedTls = createRequire(import.meta.url)('smtp-server/lib/tls-options.js') as () => object

describe('a download', () => {
  const { closing, server, fetcherWith, fetchAll } = useFetchers()

  const secureServer = async (handler: RequestListener) =>
    closing(await listening(createTlsServer(untrustedTls(), handler), '127.0.0.1', 'https'))

  describe('redirects', () => {
    const redirecting =
      (location: string): RequestListener =>
      (request, response) =>
        request.url === '/end' ? response.end('end') : response.writeHead(302, { location }).end()

    it('are followed at most three times', async () => {
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
      for (const location of [
        `${canary.origin}/`,
        `//127.0.0.1:${canary.port}/`,
        `http://localhost:${canary.port}/`,
        `http://[::ffff:7f00:1]:${canary.port}/`,
        `http://name.example.com:${canary.port}/`,
      ]) {
        const { origin } = await server(redirecting(location))
        const error = await failed(fetchAll(`${origin}/`, {}, fetcherWith({ resolver: answering(LOOPBACK) })))
        expect(error.problem, location).to.equal('refused')
      }
      expect(canary.connections()).to.equal(0)
    })

    it('lead only to http(s), without credentials', async () => {
      for (const location of [
        'file:///etc/passwd',
        'ftp://example.com/',
        'data:image/png;base64,AAAA',
        'http://a:b@example.com/',
        'http://',
      ]) {
        const { origin } = await server(redirecting(location))
        expect((await failed(fetchAll(`${origin}/`))).problem, location).to.equal('refused')
      }
    })

    it('keep headers within the origin, and never send them to another one or back', async () => {
      const other = await server((_, response) => response.writeHead(302, { location: `${upstream.origin}/end` }).end())
      const upstream = await server((request, response) => {
        const location = { '/inside': '/outside', '/outside': `${other.origin}/` }[request.url!]
        if (location) response.writeHead(307, { location }).end()
        else response.end('end')
      })
      const options = { headers: { authorization: 'Bearer secret' }, trustedOrigins: [upstream.origin, other.origin] }
      expect(await fetchAll(`${upstream.origin}/inside`, options)).to.equal('end')
      expect(upstream.requests.map(({ headers }) => headers['authorization'])).to.deep.equal([
        'Bearer secret',
        'Bearer secret',
        undefined,
      ])
      expect(other.requests[0]!.headers['authorization']).to.equal(undefined)
    })

    it('are an ordinary refusal if they lead nowhere', async () => {
      const { origin } = await server((_, response) => response.writeHead(304).end())
      expect(await failed(fetchAll(`${origin}/`))).to.include({ problem: 'status', status: 304, retryable: false })
    })

    it('never lead from https to http', async () => {
      const canary = await server()
      const secure = await secureServer(redirecting(`${canary.origin}/`))
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

  it('refuses an untrusted certificate', async () => {
    const secure = await secureServer((_, response) => response.end('ok'))
    expect(await failed(fetchAll(`${secure.origin}/`))).to.include({ problem: 'untrusted', retryable: false })
    expect(secure.requests.length).to.equal(0)
  })

  describe('limits', () => {
    it('refuses a file that announces more bytes than allowed, without reading it', async () => {
      const { origin } = await server((_, response) =>
        response.writeHead(200, { 'content-length': '101' }).end(Buffer.alloc(101)),
      )
      expect((await failed(fetchAll(`${origin}/`, { maxBytes: 100 }))).problem).to.equal('too_large')
      expect(await fetchAll(`${origin}/`, { maxBytes: 101 })).to.have.length(101)
    })

    it('stops at the limit without an announced length, and closes the connection', async () => {
      let closed: Promise<unknown> = Promise.resolve()
      const { origin } = await server((_, response) => {
        closed = once(response, 'close')
        const pump = () => {
          while (response.write(Buffer.alloc(65_536))) {
            /* as long as somebody reads */
          }
        }
        response.on('drain', pump)
        pump()
      })
      expect((await failed(fetchAll(`${origin}/`, { maxBytes: 1_000_000 }))).problem).to.equal('too_large')
      await closed
    })

    it('refuses a compressed file, whose unpacked size is unknown', async () => {
      for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip']) {
        const { origin } = await server((_, response) =>
          response.writeHead(200, { 'content-encoding': encoding }).end('x'),
        )
        expect((await failed(fetchAll(`${origin}/`))).message, encoding).to.match(/compressed/)
      }
      const { origin } = await server((_, response) =>
        response.writeHead(200, { 'content-encoding': 'identity' }).end('x'),
      )
      expect(await fetchAll(`${origin}/`)).to.equal('x')
    })

    it('accepts only status 200, and says which others are temporary', async () => {
      const temporary = [408, 425, 429, 500, 502, 503]
      for (const status of [204, 206, 400, 401, 403, 404, 410, ...temporary]) {
        const retryable = temporary.includes(status)
        const { origin } = await server((_, response) => response.writeHead(status).end())
        expect(await failed(fetchAll(`${origin}/`))).to.include({ problem: 'status', status, retryable })
      }
    })

    it('limits the time for a connection, the first byte, the next byte, and the whole', async () => {
      const connecting = failed(
        fetchAll('http://slow.example.com/', {}, fetcherWith({ upstreamResolver: hanging, timeouts: { connect: 40 } })),
      )
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
      for (const waiting of [first, idle, total])
        expect(await waiting).to.include({ problem: 'timeout', retryable: true })
    })
  })

  it('never passes off a broken transfer as complete', async () => {
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

  it('reports that nothing listens', async () => {
    const gone = await serve(() => {})
    await gone.close()
    expect(await failed(fetchAll(`${gone.origin}/`))).to.include({ problem: 'unreachable', retryable: true })
  })

  describe('when it is no longer wanted', () => {
    it('ends with the reason of the signal, before and during everything', async () => {
      const reason = new Error('the deadline of the call')
      const { origin } = await server((request, response) =>
        request.url === '/body' ? response.write('a') : undefined,
      )
      expect(await failureOf(fetchAll(`${origin}/`, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
      for (const path of ['/head', '/body']) {
        const controller = new AbortController()
        const work = failureOf(fetchAll(`${origin}${path}`, { signal: controller.signal }))
        setImmediate(() => controller.abort(reason))
        expect(await work).to.equal(reason)
      }
      const controller = new AbortController()
      const looking = failureOf(
        fetchAll('http://slow.example.com/', { signal: controller.signal }, fetcherWith({ resolver: hanging })),
      )
      controller.abort(reason)
      expect(await looking).to.equal(reason)
    })

    it('closes the connection of an abandoned body, read or unread', async () => {
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
})
