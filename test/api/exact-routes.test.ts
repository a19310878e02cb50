import { expect } from 'chai'
import { CONSOLE_PATHS } from '../../src/api/static/console.ts'
import { endpoints } from '../../src/api/routes.ts'
import { messageOf } from '../../src/shared/platform/errors.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { send } from '../../scripts/harness/http.ts'
import { startTestWeb, testConfig } from '../../scripts/harness/harness.ts'
import type { TestWeb } from '../../scripts/harness/harness.ts'

describe('a path', () => {
  let web: TestWeb
  before(async () => {
    const settings = {
      DASHBOARD_PASSWORD: 'p',
      METRICS_TOKEN: 't',
      PAYMENTS: 'stripe',
      STRIPE_SECRET_KEY: 'sk_test_x',
      STRIPE_WEBHOOK_SECRET: 'whsec_x',
    }
    web = await startTestWeb(await testConfig('http://127.0.0.1:9', settings))
  })
  after(() => web.stop())

  const statusOf = async (method: string, path: string): Promise<number> => {
    const response = await fetch(`${web.url}${path}`, { method, redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  }

  /** Other spellings of a path; its parameters are filled in first. */
  const spellings = (path: string): string[] => {
    const [, first] = path.split('/') as [string, string]
    return [path.replace(first, first.toUpperCase()), `/${path}`]
  }

  it('of an endpoint has one spelling, by its case and its slashes', async () => {
    for (const { method, path } of endpoints) {
      const filled = path.replace(/[:*]\w+/g, 'x')
      // A slash at the end can belong to the id of a model.
      const others = path.includes('*') ? spellings(filled) : [...spellings(filled), `${filled}/`]
      for (const other of others) {
        expect(await statusOf(method.toUpperCase(), other), `${method} ${other}`).to.equal(404)
      }
    }
  })

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

  const PAGES = [...CONSOLE_PATHS.filter((path) => path !== '/' && !path.includes(':')), '/openapi.json']
  it('of a page or a document has one spelling, too', async () => {
    for (const path of [...PAGES, '/pages/help.json', '/pages/help/agents.md', '/pages/icon.svg']) {
      expect(await statusOf('GET', path), path).to.be.oneOf([200, 503])
      for (const other of [path.toUpperCase(), `${path}/`]) expect(await statusOf('GET', other), other).to.equal(404)
    }
  })

  it('of the dashboard has one spelling, and its own page links to that with a slash', async () => {
    for (const path of ['/admin/queues', '/admin/queues/', '/admin/queues/queue/chat']) {
      expect(await statusOf('GET', path), path).to.equal(401)
    }
    for (const path of ['/Admin/queues', '/admin/QUEUES', '/admin/queuesx']) {
      expect(await statusOf('GET', path), path).to.equal(404)
    }
  })
})
