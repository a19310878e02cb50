import { expect } from 'chai'
import { get } from '../../../scripts/harness/http.ts'
import { CHAT, chatBody, countsOf } from '../../../scripts/harness/calling.ts'
import { exchange } from './sockets.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

describe('requests that are hardly HTTP', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1_000_000)
  afterEach(async () => {
    expect((await get(`${gateway.url}/healthz`)).status, 'the process serves on').to.equal(200)
  })

  const BODY = JSON.stringify(chatBody('x'))
  const head = (lines: string[], first = `POST ${CHAT} HTTP/1.1`): string =>
    [first, 'Host: localhost', `Authorization: Bearer ${account.key}`, ...lines, '', ''].join('\r\n')
  const json = 'Content-Type: application/json'

  /** Every answer must be one of these; 0 is a connection that is closed without one. */
  async function expectAnswer(
    pieces: (string | Uint8Array)[],
    allowed: number[],
    options: Parameters<typeof exchange>[2] = { answers: 1 },
  ): Promise<string> {
    const { text, statuses } = await exchange(gateway.url, pieces, options)
    expect(statuses[0] ?? 0, text.slice(0, 400)).to.be.oneOf(allowed)
    expect(
      statuses.filter((status) => status >= 500),
      text,
    ).to.deep.equal([])
    if (statuses.length > 0) expect(text).to.match(/^x-request-id: \S+/im)
    return text
  }

  const REFUSED: [what: string, lines: string[], body: string][] = [
    [
      'Content-Length and Transfer-Encoding together',
      [json, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\n',
    ],
    ['two lengths', [json, 'Content-Length: 5', 'Content-Length: 6'], 'xxxxx'],
    ['a length in hex', [json, 'Content-Length: 0x10'], 'x'],
    ['chunked, but not last', [json, 'Transfer-Encoding: chunked, gzip'], '0\r\n\r\n'],
    ['a chunk size that is none', [json, 'Transfer-Encoding: chunked'], 'zz\r\nx\r\n0\r\n\r\n'],
    ['a chunk shorter than its size says', [json, 'Transfer-Encoding: chunked'], '3\r\nabcdef\r\n0\r\n\r\n'],
    ['space before a colon', [json, 'Content-Length : 5'], 'xxxxx'],
    ['a folded header', [json, 'X-A: b', ' c', 'Content-Length: 0'], ''],
    ['NUL in a header', [json, 'X-A: a\0b', 'Content-Length: 0'], ''],
  ]
  for (const [what, lines, body] of REFUSED) {
    it(`${what} is refused, and charges nothing`, async () => {
      await expectAnswer([head(lines), body], [400, 413, 0])
      expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
    })
  }

  it('lines that end in LF alone are refused', async () => {
    await expectAnswer([head([json, `Content-Length: ${BODY.length}`]).replaceAll('\r\n', '\n'), BODY], [400, 0])
  })

  /** The error of an answer that was refused before it was a request, in the form of its path. */
  async function errorOf(pieces: string[], status: number): Promise<unknown> {
    const text = await expectAnswer(pieces, [status])
    const [top, body] = text.split('\r\n\r\n') as [string, string]
    expect(top).to.match(/^content-type: application\/json/im)
    const { ok, error } = JSON.parse(body) as { ok: boolean; error: unknown }
    expect(ok).to.equal(false)
    return error
  }
  /** The headers that a page of another origin and an SDK look for in every error of the gateway. */
  function expectGatewayHeaders(top: string): void {
    expect(top).to.match(/^x-should-retry: false\r?$/im)
    expect(top).to.match(/^access-control-allow-origin: \*\r?$/im)
    expect(top).to.match(/^access-control-expose-headers: .*x-should-retry/im)
  }
  const REFUSED_BY_NODE: [what: string, status: number, rest: string][] = [
    ['headers of 20 kB', 431, `Host: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a header that is none', 400, 'Host: x\r\n: x\r\n\r\n'],
    ['no Host', 400, '\r\n'],
    ['an Expect that nobody knows', 417, 'Host: x\r\nExpect: banana\r\n\r\n'],
  ]
  for (const [what, status, rest] of REFUSED_BY_NODE) {
    it(`${what} is answered ${status} in the form of the path`, async () => {
      expect(await errorOf([`GET /v1/models HTTP/1.1\r\n${rest}`], status)).to.include({ type: 'invalid_request' })
      expect(await errorOf([`GET /api/me HTTP/1.1\r\n${rest}`], status)).to.equal('invalid_request')
      expectGatewayHeaders(await expectAnswer([`GET /v1/models HTTP/1.1\r\n${rest}`], [status]))
      const ofConsole = await expectAnswer([`GET /api/me HTTP/1.1\r\n${rest}`], [status])
      expect(ofConsole).not.to.match(/^(access-control|x-should-retry)/im)
    })
  }

  it('an Expect that nobody knows is answered with the id that its request has', async () => {
    const lines = [json, 'X-Request-Id: expecting', 'Expect: banana', 'Content-Length: 2']
    expect(await expectAnswer([head(lines), '{}'], [417])).to.match(/^x-request-id: expecting\r$/im)
  })

  it('a broken chunk is answered with the id that its request has, in the form of its path', async () => {
    const lines = [json, 'X-Request-Id: chunky', 'Transfer-Encoding: chunked']
    const text = await expectAnswer([head(lines), 'zz\r\n'], [400])
    expect(text).to.match(/^x-request-id: chunky\r$/im)
    expect(text).to.include('"type":"invalid_request"')
  })

  it('a request that is no HTTP after one that is answered gets an answer of its own', async () => {
    const { text, statuses } = await exchange(gateway.url, [`${head([], 'GET /v1/models HTTP/1.1')}HELO x\r\n\r\n`])
    expect(statuses.at(-1)).to.equal(400)
    expect(text.match(/^x-request-id: /gim)).to.have.length(statuses.length)
  })

  it('garbage instead of a request is refused', async () => {
    for (const garbage of [
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET\r\n\r\n',
      'HELO x\r\n\r\n',
      '\0\0\0\0\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '{"model":1}\r\n\r\n',
    ]) {
      await expectAnswer([garbage], [400, 0])
    }
  })

  it('a body of 1 MB and a byte is refused by its length, before any of it is sent', async () => {
    const text = await expectAnswer([head([json, 'Content-Length: 1048577'])], [413])
    expect(text).to.match(/^connection: close/im)
    expect(text).to.include('payload_too_large')
  })

  it('a body longer than 1 MB is refused before 100 Continue', async () => {
    const text = await expectAnswer([head([json, 'Expect: 100-continue', 'Content-Length: 2000000'])], [413, 100])
    expect(text).to.include('payload_too_large')
  })

  it('a body that is cut off by a half-closed connection charges nothing', async () => {
    const { statuses } = await exchange(
      gateway.url,
      [head([json, `Content-Length: ${BODY.length}`]), BODY.slice(0, 20)],
      { halfClose: true },
    )
    expect(statuses[0] ?? 400).to.equal(400)
    expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
  })

  it('chunks without an end charge nothing', async () => {
    const { statuses } = await exchange(
      gateway.url,
      [head([json, 'Transfer-Encoding: chunked']), `${BODY.length.toString(16)}\r\n${BODY}\r\n`],
      { halfClose: true },
    )
    expect(statuses[0] ?? 400).to.equal(400)
    expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
  })

  it('the rest after a length that is too short is not a request', async () => {
    const { statuses } = await exchange(gateway.url, [head([json, 'Content-Length: 10']), BODY])
    expect(statuses[0]).to.equal(400)
    expect(await countsOf(gateway.db, account)).to.include({ charged: 0 })
  })

  it('pipelined requests are answered in order', async () => {
    const call = head([json, `Content-Length: ${BODY.length}`]) + BODY
    const models = head([], 'GET /v1/models HTTP/1.1')
    const { statuses } = await exchange(gateway.url, [call + models + head([], 'GET /v1/nothing HTTP/1.1')], {
      answers: 3,
    })
    expect(statuses).to.deep.equal([200, 200, 404])
  })

  it('unknown methods are answered 405 or refused', async () => {
    for (const method of ['TRACE', 'PUT', 'PATCH', 'PROPFIND', 'LOCK', 'get', 'post', 'FOO']) {
      await expectAnswer([head(['Content-Length: 0'], `${method} ${CHAT} HTTP/1.1`)], [405, 400, 501, 0])
    }
    await expectAnswer([head(['Content-Length: 0'], 'OPTIONS * HTTP/1.1')], [404, 405, 400])
    await expectAnswer(['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'], [400, 404, 405, 0])
  })

  it('an upgrade that is not offered is ignored or refused, and never hangs', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
      await expectAnswer(
        [head(['Connection: Upgrade', `Upgrade: ${protocol}`], 'GET /v1/models HTTP/1.1')],
        [200, 400, 426],
      )
    }
  })

  it('malformed addresses are answered 404, 400 or 405, and never 500', async () => {
    for (const target of [
      '/v1/calls/%',
      '/v1/calls/%E0%A4%A',
      '/v1/calls/%00',
      '//v1/models',
      '/v1/../v1/models',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/v1/models%00',
      '/v1/models;x=1',
      `/${'a'.repeat(8000)}`,
      '/v1/x?'.repeat(500),
      'http://evil.example/v1/nothing',
      '/v1/calls/call_1?wait[]=1&wait=2&__proto__[x]=1',
      '*',
      '/v1/calls/\xff\xfe',
    ]) {
      await expectAnswer([head([], `GET ${target} HTTP/1.1`)], [404, 400, 405, 200])
    }
  })

  it('a target without a path is answered 404', async () => {
    for (const target of [
      '*',
      '*v1/models',
      'foo://bar',
      'http://',
      'http://?x',
      'http://[::1',
      '//a@xn--a/#x',
      '//a@b#x',
    ])
      await expectAnswer([head([], `GET ${target} HTTP/1.1`)], [404])
  })

  it('a path behind an origin, as a proxy gets it, is the path, whatever the origin is', async () => {
    for (const origin of ['http://gateway.example:1', 'HTTPS://gateway.example', 'http://xn--a', 'http://[::1'])
      await expectAnswer([head([], `GET ${origin}/v1/models?x HTTP/1.1`)], [200])
  })

  it('the Host header does not affect permissions', async () => {
    for (const host of [
      'evil.example',
      '',
      'a'.repeat(300),
      'good/#',
      'x@y',
      'localhost:99999',
      '[::1',
      '127.0.0.1 x',
    ]) {
      const { statuses } = await exchange(gateway.url, [`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n\r\n`], {
        answers: 1,
      })
      expect(statuses[0], host).to.be.oneOf([401, 400])
    }
    await expectAnswer(['GET /v1/models HTTP/1.1\r\n\r\n'], [400])
    await expectAnswer(['GET /v1/models HTTP/1.0\r\n\r\n'], [401, 400])
  })

  it('headers named like object properties, and Authorization twice, cause no crash', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
      await expectAnswer([head([`${name}: x`], 'GET /v1/models HTTP/1.1')], [200])
    }
    await expectAnswer([head(['Authorization: Bearer x'], 'GET /v1/models HTTP/1.1')], [200, 400, 401])
  })

  it('Range, If-None-Match and an Accept of images are ignored: the answer is JSON', async () => {
    const text = await expectAnswer(
      [head(['Range: bytes=0-1', 'If-None-Match: *', 'Accept: image/png'], 'GET /v1/models HTTP/1.1')],
      [200],
    )
    expect(text).to.match(/^content-type: application\/json/im)
  })
})
