import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, chat, image, prompted } from '../../../scripts/harness/calling.ts'
import { useGateway } from '../../support/gateway.ts'

const ORIGIN = 'https://app.example'

const listOf = (headers: Headers, name: string): string[] =>
  (headers.get(name) ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())

describe('pages of other origins', () => {
  const gateway = useGateway()

  const preflight = (path: string, headers: string) =>
    send('OPTIONS', `${gateway.url}${path}`, {
      headers: { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': headers },
    })

  it('get 204 to a preflight request of /v1 without a key', async () => {
    for (const path of [CHAT, IMAGES, '/v1/models', '/v1/calls/call_x']) {
      const reply = await preflight(path, 'authorization,content-type')
      expect([reply.status, reply.text], path).to.deep.equal([204, ''])
      expect(reply.headers.get('access-control-allow-origin')).to.equal('*')
      expect(reply.headers.get('access-control-allow-credentials')).to.equal(null)
      expect(listOf(reply.headers, 'access-control-allow-methods')).to.include.members(['get', 'post'])
      expect(Number(reply.headers.get('access-control-max-age'))).to.be.at.least(600)
      expect(reply.headers.get('x-request-id')).to.be.a('string')
    }
  })

  it('can send every header that the gateway reads and those that SDKs and pages add, but no others', async () => {
    const own = (
      'authorization content-type idempotency-key prefer x-request-id x-max-credits x-price-version ' +
      'x-new-call x-callback-url range'
    ).split(' ')
    const ofOthers = (
      'x-api-key anthropic-version anthropic-beta http-referer x-title user-agent sentry-trace ' + 'baggage traceparent'
    ).split(' ')
    const ofSdks = ['x-stainless-os', 'x-stainless-retry-count', 'x-stainless-runtime-version', 'openai-organization']
    const { headers } = await preflight(CHAT, [...own, ...ofSdks, 'x-evil', 'x-stainless-<b>'].join(', '))
    const allowed = listOf(headers, 'access-control-allow-headers')
    expect(allowed).to.include.members([...own, ...ofOthers, ...ofSdks])
    expect(allowed).not.to.include.members(['x-evil']).and.not.to.include.members(['x-stainless-<b>'])
  })

  it('can read the answers of /v1 with their headers, also of refusals', async () => {
    const account = await anAccount(gateway.db, 1000)
    const from = { origin: ORIGIN }
    const answers = [
      await get(`${gateway.url}/v1/models`, account.key, from),
      await get(`${gateway.url}/v1/models`, undefined, from),
      await get(`${gateway.url}/v1/nothing`, account.key, from),
      await send('PUT', `${gateway.url}${CHAT}`, { headers: from }),
      await chat(gateway, account, prompted(), {}, from),
      await chat(gateway, account, prompted(), { stream: true }, from),
      await image(gateway, account, prompted(), {}, { ...from, prefer: 'respond-async' }),
      await image(gateway, account, '', {}, from),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 401, 404, 405, 200, 200, 202, 400])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(headers.get('access-control-allow-credentials')).to.equal(null)
      expect(listOf(headers, 'access-control-expose-headers')).to.include.members(
        (
          'x-request-id request-id x-call-id x-ratelimit-limit-requests x-ratelimit-remaining-requests ' +
          'x-ratelimit-reset-requests retry-after x-should-retry allow location preference-applied ' +
          'idempotent-replayed'
        ).split(' '),
      )
    }
  })

  it('cannot read anything of /api', async () => {
    for (const path of ['/api/auth/login', '/api/keys', '/api/events', '/v10', '/']) {
      const asked = await preflight(path, 'authorization')
      const due = [asked.status === 404 ? 404 : 405, null]
      expect([asked.status, asked.headers.get('access-control-allow-origin')], path).to.deep.equal(due)
      const { headers } = await get(`${gateway.url}${path}`, undefined, { origin: ORIGIN })
      expect(headers.get('access-control-allow-origin'), path).to.equal(null)
    }
  })
})
