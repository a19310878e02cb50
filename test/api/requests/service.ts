import type { Requests } from '../support/visitor.ts'

const METRICS = 'a token of the operators'

/** Health and metrics. */
export const requests: Requests = {
  settings: { METRICS_TOKEN: METRICS },
  send: async ({ client }) => {
    await client()('GET', '/healthz')
    await client()('GET', '/readyz')
    await client(METRICS)('GET', '/metrics')
  },
}
