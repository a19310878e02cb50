import { expect } from 'chai'
import { endpoints } from '../../src/api/routes.ts'
import type { Endpoint } from '../../src/api/endpoint/declaration.ts'
import { useWeb } from '../support/gateway.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'

const KB = 1024

const ofAnybody = (endpoints as readonly Endpoint[]).filter(({ auth, method }) => auth === null && method !== 'get')

describe('a body of an endpoint that needs no login', () => {
  const payments = { PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_x', STRIPE_WEBHOOK_SECRET: 'whsec_x' }
  const web = useWeb(payments)

  const bodyOf = (bytes: number): string => JSON.stringify({ x: 'x'.repeat(bytes - JSON.stringify({ x: '' }).length) })
  const post = ({ method, path }: Endpoint, bytes: number): Promise<Reply> =>
    send(method.toUpperCase(), `${web.url}${path}`, { body: bodyOf(bytes) })

  it('is there to be looked at', () => {
    expect(ofAnybody.map(({ path }) => path)).to.include.members(
      '/api/auth/login /api/email/verify /api/email/reset /hooks/stripe'.split(' '),
    )
  })

  for (const one of ofAnybody) {
    const most = (one.path === '/hooks/stripe' ? 256 : 16) * KB
    it(`${one.path} is at most ${most / KB} kB`, async () => {
      expect((await post(one, most)).status).to.be.oneOf([400, 401, 200])
      const { status, json } = await post(one, most + 1)
      expect([status, json.error]).to.deep.equal([413, 'payload_too_large'])
    })
  }

  it('has a limit for each network, whatever it asks for', () => {
    for (const { path, limits = [] } of ofAnybody) {
      expect(
        limits.some(({ per }) => per === 'client'),
        path,
      ).to.equal(true)
    }
  })

  it('is answered 429 where one network sends links without end', async () => {
    const verify = () => send('POST', `${web.url}/api/email/verify`, { body: '{"token":"x"}' })
    const refused = await until('the refusal', async () => {
      const replies = await Promise.all(Array.from({ length: 50 }, verify))
      return replies.find(({ status }) => status === 429)
    })
    expect(refused.json.error).to.equal('rate_limited')
  })
})
