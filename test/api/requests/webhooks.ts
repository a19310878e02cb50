import type { Requests } from '../support/visitor.ts'

/** Webhooks, their secrets and their deliveries. Nothing listens where they lead. */
export const requests: Requests = {
  settings: { WEBHOOK_ALLOW_PRIVATE: 'on' },
  send: async ({ signUp }) => {
    const { me } = await signUp()
    const { webhook } = (
      await me('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/events', types: ['call.succeeded', 'chat'] })
    ).json
    const path = `/api/webhooks/${webhook.id}`
    await me('GET', '/api/webhooks')
    await me('GET', path)
    await me('PATCH', path, { types: ['key.created'] })
    await me('POST', `${path}/rotate`)
    const { delivery } = (await me('POST', `${path}/test`)).json
    await me('GET', `${path}/deliveries?limit=1`)
    await me('POST', `${path}/deliveries/${delivery}/redeliver`)
    await me('PATCH', path, { disabled: true })
    await me('POST', `${path}/test`)
    await me('DELETE', path)
    await me('GET', '/api/webhooks/callback-secret')
    await me('GET', '/api/webhooks/callback-secret')
    await me('POST', '/api/webhooks/callback-secret/rotate')

    const { me: operator } = await signUp({ role: 'admin' })
    const house = '/api/operator/webhooks'
    const made = (await operator('POST', house, { url: 'http://127.0.0.1:9/events', types: ['mail.dead'] })).json
    await operator('GET', house)
    await operator('POST', `${house}/${made.webhook.id}/test`)
    await operator('POST', `${house}/${made.webhook.id}/rotate`)
    await operator('PATCH', `${house}/${made.webhook.id}`, { disabled: true })
    await operator('POST', `${house}/${made.webhook.id}/test`)
    await operator('DELETE', `${house}/${made.webhook.id}`)
  },
}
