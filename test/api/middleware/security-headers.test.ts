import { expect } from 'chai'
import { startTestWeb, testConfig } from '../../../scripts/harness/harness.ts'
import { send } from '../../../scripts/harness/http.ts'
import { useWeb } from '../../support/gateway.ts'

const NO_PAGE = "default-src 'none'; frame-ancestors 'none'"

describe('the security headers', () => {
  const web = useWeb()

  const headersOf = async (method: string, path: string, from: { url: string } = web) =>
    (await send(method, `${from.url}${path}`)).headers

  it('of every answer that is not a page forbid loading, framing, type sniffing and referrers', async () => {
    for (const [method, path] of [
      ['GET', '/healthz'],
      ['GET', '/readyz'],
      ['GET', '/v1/models'],
      ['POST', '/v1/chat/completions'],
      ['GET', '/api/auth/me'],
      ['POST', '/api/auth/login'],
      ['GET', '/no/such/path'],
      ['DELETE', '/healthz'],
      ['GET', '/media/no-such-name'],
    ] as const) {
      const headers = await headersOf(method, path)
      expect(headers.get('content-security-policy'), path).to.equal(NO_PAGE)
      expect(headers.get('x-content-type-options'), path).to.equal('nosniff')
      expect(headers.get('referrer-policy'), path).to.equal('no-referrer')
    }
  })

  it('let no cache keep the answers of one caller', async () => {
    for (const path of ['/v1/models', '/v1', '/api/auth/me', '/api/no/such/path']) {
      expect((await headersOf('GET', path)).get('cache-control'), path).to.equal('no-store')
    }
  })

  it('promise https for a year where the public address is https, and only there', async () => {
    expect((await headersOf('GET', '/healthz')).has('strict-transport-security')).to.equal(false)
    const safe = await startTestWeb(await testConfig('http://127.0.0.1:9', { BASE_URL: 'https://gateway.example' }))
    for (const path of ['/healthz', '/v1/models', '/verify']) {
      expect((await headersOf('GET', path, safe)).get('strict-transport-security'), path).to.equal('max-age=31536000')
    }
    await safe.stop()
  })
})
