import { expect } from 'chai'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { ensureConsole } from '../../../scripts/build/console.ts'
import { CONSOLE_PATHS, consolePolicy } from '../../../src/api/static/console.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: https: http:; " +
  "media-src 'self' https: http:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

describe('the pages as files', () => {
  let web: TestWeb
  let page: string
  let script: string
  let style: string
  before(async function () {
    await ensureConsole()
    web = await startTestWeb()
    page = (await get(`${web.url}/sign-in`)).text
    script = /src="(\/console\/[^"]+\.js)"/.exec(page)![1]!
    style = /href="(\/console\/[^"]+\.css)"/.exec(page)![1]!
  })
  after(() => web.stop())

  it('forbid inline code, foreign code and frames, and send no referrer', async () => {
    for (const path of ['/', '/verify', '/calls/call_1', script, style]) {
      const { status, headers } = await get(`${web.url}${path}`)
      expect(status, path).to.equal(200)
      expect(headers.get('content-security-policy'), path).to.equal(POLICY)
      expect(headers.get('referrer-policy'), path).to.equal('no-referrer')
      expect(headers.get('x-content-type-options'), path).to.equal('nosniff')
    }
  })

  it('are one document at every path of the console', async () => {
    for (const path of CONSOLE_PATHS) {
      const { headers, text } = await get(`${web.url}${path.replace(/:\w+/g, 'something')}`)
      expect([headers.get('content-type'), text], path).to.deep.equal(['text/html; charset=utf-8', page])
    }
  })

  it('are cached for a year if their name has a hash of their content, and revalidated otherwise', async () => {
    expect((await get(`${web.url}${script}`)).headers.get('cache-control')).to.equal(
      'public, max-age=31536000, immutable',
    )
    expect((await get(`${web.url}/`)).headers.get('cache-control')).to.equal('no-cache')
  })

  it('are sent again only when they have changed', async () => {
    // fetch would make this conditional request unconditional; undici's request sends it as it is.
    const ask = (headers: Record<string, string>) => request(`${web.url}/verify`, { headers })
    const etag = (await ask({})).headers.etag as string
    const again = await ask({ 'if-none-match': etag })
    expect([again.statusCode, await again.body.text()]).to.deep.equal([304, ''])
    expect((await ask({ 'if-none-match': '"another"' })).statusCode).to.equal(200)
  })

  it('were compressed by the build, with an ETag for each encoding', async () => {
    const plain = await fetch(`${web.url}${script}`, { headers: { 'accept-encoding': 'identity' } })
    const text = await plain.text()
    const etags = new Set([plain.headers.get('etag')])
    for (const [encoding, expand] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const small = await request(`${web.url}${script}`, { headers: { 'accept-encoding': encoding } })
      expect(small.headers['content-encoding']).to.equal(encoding)
      expect(expand(Buffer.from(await small.body.arrayBuffer())).toString()).to.equal(text)
      etags.add(small.headers.etag as string)
    }
    expect(etags.size).to.equal(3)
  })

  it('give access to no other file, and are not the answer to a mistyped path', async () => {
    for (const path of [
      '/console/',
      '/console/index.html',
      '/console/.built',
      '/console/../../package.json',
      '/console/%2e%2e%2f%2e%2e%2fpackage.json',
      `${script}.gz`,
      ...(
        '/index.html /package.json /api/nothing /v1/nothing /call/1 /pages/link.js /pages/help/../package.json ' +
        '/pages/help/%2e%2e/%2e%2e/package.json /docs/start.js'
      ).split(' '),
    ])
      expect((await get(`${web.url}${path}`)).status, path).to.equal(404)
  })

  it('tell a browser at an unknown path that there is no page, and a program so in JSON', async () => {
    const seen = async (path: string, accept: string) => {
      const answer = await fetch(`${web.url}${path}`, { headers: { accept } })
      await answer.text()
      return [answer.status, answer.headers.get('content-type')!.split(';')[0]]
    }
    const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
    expect(await seen('/nowhere', browser)).to.deep.equal([404, 'text/html'])
    expect(await seen('/nowhere', '*/*')).to.deep.equal([404, 'application/json'])
    for (const path of ['/v1/nothing', '/api/nothing'])
      expect(await seen(path, browser), path).to.deep.equal([404, 'application/json'])
  })

  it('may show results from any https address, and over http only where the bucket or the console is on http', () => {
    const policy = (BASE_URL: string, S3_ENDPOINT?: string) =>
      /img-src ([^;]*)/.exec(consolePolicy({ BASE_URL, S3_ENDPOINT }))![1]
    expect(policy('https://gate.example')).to.equal("'self' data: https:")
    expect(policy('https://gate.example', 'http://10.0.0.5:9000/x')).to.equal(
      "'self' data: https: http://10.0.0.5:9000",
    )
    expect(policy('http://localhost:3000', 'http://127.0.0.1:9000')).to.equal("'self' data: https: http:")
  })
})
