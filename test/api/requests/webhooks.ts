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
    await me('GET', `${path}/deliveries/${delivery}`)
    await me('POST', `${path}/deliveries/${delivery}/redeliver`)
    await me('PATCH', path, { disabled: true })
    await me('POST', `${path}/test`)
    await me('POST', `${path}/deliveries/${delivery}/redeliver`)
    await me('DELETE', path)
    await me('GET', '/api/webhooks/callback-secret')
    await me('GET', '/api/webhooks/callback-secret')
    await me('POST', '/api/webhooks/callback-secret/rotate')

    const { me: operator } = await signUp({ role: 'admin' })
    const house = '/api/operator/webhooks'
    const made = (await operator('POST', house, { url: 'http://127.0.0.1:9/events', types: ['mail.dead'] })).json
    await operator('GET', house)
    const one = `${house}/${made.webhook.id}`
    await operator('GET', one)
    const tested = (await operator('POST', `${one}/test`)).json
    await operator('GET', `${one}/deliveries?limit=1`)
    await operator('GET', `${one}/deliveries/${tested.delivery}`)
    await operator('POST', `${one}/deliveries/${tested.delivery}/redeliver`)
    await operator('POST', `${one}/rotate`)
    await operator('PATCH', one, { disabled: true })
    await operator('POST', `${one}/test`)
    await operator('POST', `${one}/deliveries/${tested.delivery}/redeliver`)
    await operator('DELETE', one)
  },
}
