import { expect } from 'chai'
import { endpoints } from '../../src/api/routes.ts'
import { messageOf } from '../../src/shared/platform/errors.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { send } from '../../scripts/harness/http.ts'
import { useWeb } from '../support/gateway.ts'

describe('a path', () => {
  const web = useWeb({
    DASHBOARD_PASSWORD: 'p',
    METRICS_TOKEN: 't',
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_x',
    STRIPE_WEBHOOK_SECRET: 'whsec_x',
  })

  const statusOf = async (path: string): Promise<number> => {
    const response = await fetch(`${web.url}${path}`, { redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  }

  it('of the gateway is the same with a query that its endpoint does not know', async () => {
    const { key } = await anAccount(web.db)
    const gateway = endpoints.filter(({ path }) => path.startsWith('/v1/'))
    expect(gateway).not.to.have.lengthOf(0)
    for (const { method, path } of gateway) {
      const [plain, queried] = await Promise.all(
        ['', '?beta=true&beta=2&x'].map((query) =>
          send(method.toUpperCase(), `${web.url}${path.replace(/[:*]\w+/g, 'x')}${query}`, {
            key,
            body: method === 'post' ? {} : undefined,
          }),
        ),
      )
      // Anthropic's errors name their request.
      const [one, other] = [plain!, queried!].map(({ status, json }) => ({ status, ...json, request_id: null }))
      expect(other, path).to.deep.equal(one)
      expect(plain!.json.error?.message, path).not.to.equal(messageOf('not_found'))
    }
  })

  it('of the dashboard has one spelling, and its own page links to that with a slash', async () => {
    for (const path of ['/admin/queues', '/admin/queues/', '/admin/queues/queue/chat']) {
      expect(await statusOf(path), path).to.equal(401)
    }
    for (const path of ['/Admin/queues', '/admin/QUEUES', '/admin/queuesx']) {
      expect(await statusOf(path), path).to.equal(404)
    }
  })
})
