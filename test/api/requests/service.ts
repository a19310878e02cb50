import type { Requests } from '../support/visitor.ts'

const METRICS = 'a token of the operators'

/** Health, metrics and the mails of this machine. */
export const requests: Requests = {
  settings: { METRICS_TOKEN: METRICS, BASE_URL: 'http://localhost:3000' },
  send: async ({ client }) => {
    await client()('GET', '/healthz')
    await client()('GET', '/readyz')
    await client()('GET', '/api/dev/mails')
    await client(METRICS)('GET', '/metrics')
  },
}
