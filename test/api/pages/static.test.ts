import { expect } from 'chai'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { startTestWeb } from '../../support/harness.ts'
import type { TestWeb } from '../../support/harness.ts'
import { get } from '../../support/http.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

describe('static pages', () => {
  let web: TestWeb
  before(async () => { web = await startTestWeb() })
  after(() => web.stop())

  it('forbid inline code, foreign sources and frames, and tell no other site where they were', async () => {
    for (const path of ['/', '/verify', '/reset', '/pages/style.css', '/pages/link.js']) {
      const { status, headers } = await get(`${web.url}${path}`)
      expect(status, path).to.equal(200)
      expect(headers.get('content-security-policy'), path).to.equal(POLICY)
      expect(headers.get('referrer-policy'), path).to.equal('no-referrer')
      expect(headers.get('x-content-type-options'), path).to.equal('nosniff')
    }
  })

  it('have the types of what they are', async () => {
    for (const [path, type] of [
      ['/', 'text/html'],
      ['/verify', 'text/html'],
      ['/pages/style.css', 'text/css'],
      ['/pages/verify.js', 'text/javascript'],
      ['/pages/icon.svg', 'image/svg+xml'],
    ] as const) {
      expect((await get(`${web.url}${path}`)).headers.get('content-type'), path).to.match(
        new RegExp(`^${type.replace('+', '\\+')}(;|$)`),
      )
    }
  })

  it('hold no inline script or style, which their policy would refuse', async () => {
    for (const path of ['/', '/verify', '/reset', '/docs']) {
      const { text } = await get(`${web.url}${path}`)
      expect(text, path).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i)
    }
  })

  it('are sent again only when they have changed', async () => {
    // fetch makes a conditional request of a caller's an unconditional one; undici's request leaves it as it is.
    const ask = (headers: Record<string, string>) => request(`${web.url}/verify`, { headers })
    const etag = (await ask({})).headers.etag as string
    const again = await ask({ 'if-none-match': etag })
    expect([again.statusCode, await again.body.text()]).to.deep.equal([304, ''])
    expect((await ask({ 'if-none-match': '"another"' })).statusCode).to.equal(200)
  })

  it('are compressed for those who ask, under an ETag of their own', async () => {
    const plain = await fetch(`${web.url}/pages/style.css`, { headers: { 'accept-encoding': 'identity' } })
    const small = await request(`${web.url}/pages/style.css`, { headers: { 'accept-encoding': 'gzip' } })
    expect(plain.headers.get('content-encoding')).to.equal(null)
    expect(small.headers['content-encoding']).to.equal('gzip')
    expect(small.headers.etag).not.to.equal(plain.headers.get('etag'))
    expect(gunzipSync(Buffer.from(await small.body.arrayBuffer())).toString()).to.equal(await plain.text())
  })

  it('answer HEAD without a body, and name their methods to others', async () => {
    const head = await fetch(`${web.url}/verify`, { method: 'HEAD' })
    expect([head.status, await head.text()]).to.deep.equal([200, ''])
    const post = await fetch(`${web.url}/verify`, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
  })

  it('give access to no other file', async () => {
    for (const path of [
      '/pages/',
      '/pages/index.html',
      '/pages/../../package.json',
      '/pages/%2e%2e%2f%2e%2e%2fpackage.json',
      '/pages/..%5c..%5cpackage.json',
      '/package.json',
      '/assets/pages/verify.html',
    ]) {
      expect((await get(`${web.url}${path}`)).status, path).to.equal(404)
    }
  })
})
