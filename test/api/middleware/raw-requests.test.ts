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
    const found = statuses.filter((status) => status >= 500)
    expect(found, text).to.deep.equal([])
    if (statuses.length > 0) expect(text).to.match(/^x-request-id: \S+/im)
    return text
  }

  const chunked = [json, 'Transfer-Encoding: chunked']
  const REFUSED: Record<string, () => string> = {
    'Content-Length and Transfer-Encoding together': () => `${head([...chunked, 'Content-Length: 5'])}0\r\n\r\n`,
    'two lengths': () => `${head([json, 'Content-Length: 5', 'Content-Length: 6'])}xxxxx`,
    'a length in hex': () => `${head([json, 'Content-Length: 0x10'])}x`,
    'chunked, but not last': () => `${head([json, 'Transfer-Encoding: chunked, gzip'])}0\r\n\r\n`,
    'a chunk size that is none': () => `${head(chunked)}zz\r\nx\r\n0\r\n\r\n`,
    'a chunk shorter than its size says': () => `${head(chunked)}3\r\nabcdef\r\n0\r\n\r\n`,
    'space before a colon': () => `${head([json, 'Content-Length : 5'])}xxxxx`,
    'a folded header': () => head([json, 'X-A: b', ' c', 'Content-Length: 0']),
    'NUL in a header': () => head([json, 'X-A: a\0b', 'Content-Length: 0']),
    'lines that end in LF alone': () => head([json, `Content-Length: ${BODY.length}`]).replaceAll('\r\n', '\n') + BODY,
    'the beginning of TLS': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a method alone': () => 'GET\r\n\r\n',
    'HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'JSON without a head': () => '{"model":1}\r\n\r\n',
  }
  for (const [what, request] of Object.entries(REFUSED)) {
    it(`${what}: is refused, and charges nothing`, async () => {
      await expectAnswer([request()], [400, 413, 0])
      expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
    })
  }

  for (const [what, lines, body] of [
    ['a length that is not reached', [`Content-Length: ${BODY.length}`], BODY.slice(0, 20)],
    ['chunks without an end', ['Transfer-Encoding: chunked'], `${BODY.length.toString(16)}\r\n${BODY}\r\n`],
  ] as const)
    it(`a body that a half-closed connection cuts off, with ${what}, charges nothing`, async () => {
      const { statuses } = await exchange(gateway.url, [head([json, ...lines]), body], { halfClose: true })
      expect(statuses[0] ?? 400).to.equal(400)
      expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
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

  const TARGETS: Record<number, string[]> = {
    200: ['http://gateway.example:1', 'HTTPS://xn--a', 'http://[::1'].map((origin) => `${origin}/v1/models?x`),
    404: [
      ...'/v1/calls/% /v1/calls/%00 //v1/models /%2e%2e/%2e%2e/etc/passwd /v1/models;x=1'.split(' '),
      `/${'a'.repeat(8000)}`,
      '/v1/calls/\xff\xfe',
      ...'*v1/models foo://bar http://?x http://[::1 //a@xn--a/#x'.split(' '),
    ],
  }
  it('a target is its path, whatever origin a proxy puts in front of it; without one it is 404 or 400', async () => {
    for (const [status, targets] of Object.entries(TARGETS))
      for (const target of targets) await expectAnswer([head([], `GET ${target} HTTP/1.1`)], [Number(status), 400])
    for (const method of ['TRACE', 'PROPFIND', 'get', 'FOO'])
      await expectAnswer([head(['Content-Length: 0'], `${method} ${CHAT} HTTP/1.1`)], [405, 400, 0])
    await expectAnswer(['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'], [400, 404, 405, 0])
  })

  it('neither Host nor headers named like object properties affect permissions', async () => {
    for (const host of ['evil.example', '', 'a'.repeat(300), 'good/#', 'x@y', 'localhost:99999', '127.0.0.1 x'])
      await expectAnswer([`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n\r\n`], [401, 400])
    await expectAnswer(['GET /v1/models HTTP/1.0\r\n\r\n'], [401, 400])
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])
      await expectAnswer([head([`${name}: x`], 'GET /v1/models HTTP/1.1')], [200])
    await expectAnswer([head(['Authorization: Bearer x'], 'GET /v1/models HTTP/1.1')], [200, 400, 401])
  })
})
