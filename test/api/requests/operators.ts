import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import type { Requests } from '../support/visitor.ts'

/** What operators do: accounts, grants, calls, dead letters. */
export const requests: Requests = {
  send: async ({ client, signUp, gateway: { db } }) => {
    const { me: operator } = await signUp({ role: 'admin' })
    const { email, me } = await signUp({ credits: 40 })
    const { secret } = (await me('POST', '/api/keys', { name: 'test' })).json
    const image = await client(secret)('POST', '/v1/images/generations', { model: 'sandbox-image', prompt: 'a fox' })

    const id = newId('mail')
    await requestMail(db, { id, kind: 'reset', recipient: 'lost@example.com', userId: null })
    await db('mails').where({ id }).update({ status: 'dead', note: 'refused', finished_at: db.fn.now() })
    const mails = await operator('GET', '/api/operator/mails')
    await operator('POST', `/api/operator/mails/${mails.json.data[0].id}/retry`)
    await db('mails').where({ id }).update({ status: 'dead', note: 'refused', finished_at: db.fn.now() })
    await operator('DELETE', `/api/operator/mails/${mails.json.data[0].id}`)

    await operator('GET', `/api/operator/calls?account=${email}&model=sandbox-image`)
    const { account } = (await operator('GET', `/api/operator/calls/${image.headers.get('x-call-id')}`)).json
    const path = `/api/operator/accounts/${account.id}`
    await operator('POST', `${path}/grants`, { amount: 5, origin: 'bonus', note: 'sorry', expiresAt: '2999-12-31' })
    await operator('POST', `${path}/deductions`, { amount: 5, reason: 'a mistake', idempotencyKey: 'once' })
    await operator('GET', `${path}/ledger?limit=1`)
    const sessions = await operator('GET', `${path}/sessions`)
    await operator('DELETE', `/api/operator/sessions/${sessions.json.data[0].id}`)
    await operator('DELETE', `${path}/sessions`)
    const keys = await operator('GET', `${path}/keys`)
    const keyPath = `/api/operator/keys/${keys.json.data[0].id}`
    await operator('PATCH', keyPath, { rateLimit: 5, budget: { credits: 5, period: 'day' } })
    await operator('POST', `${keyPath}/rotate`, { graceSeconds: 60 })
    await operator('DELETE', keyPath)
    await operator('PUT', `${path}/group`, { group: null })
    await operator('PATCH', `${path}/limits`, { rateLimit: 600, maxOutstanding: null, tokensPerMinute: 100_000 })
    await operator('POST', `${path}/suspend`)
    await operator('POST', `${path}/activate`)
    expect((await operator('GET', path)).json.actions).to.have.lengthOf(11)
    await operator('GET', `/api/operator/accounts?search=${encodeURIComponent(email)}`)
    await operator('GET', '/api/operator/overview')
    await operator('GET', '/api/operator/upstreams')
    for (const verb of ['test', 'disable', 'enable'])
      await operator('POST', `/api/operator/upstreams/sandbox/keys/default/${verb}`)
    await operator('GET', '/api/operator/margins?by=group')
    await operator('GET', `/api/operator/actions?account=${email}&operator=command+line&from=2020-01-01`)
    await operator('GET', '/api/operator/exports/actions?action=credits_granted')
    await operator('PUT', '/api/operator/banner', { text: 'Maintenance', level: 'warning', until: '2999-01-01' })
    await operator('GET', '/api/operator/banner')
    await client()('GET', '/api/banner')
    await operator('DELETE', '/api/operator/banner')

    const { catalogue, version } = (await operator('GET', '/api/operator/catalogue')).json
    const named = { ...catalogue, models: catalogue.models.toReversed() }
    await operator('POST', '/api/operator/catalogue/check', { catalogue: named })
    await operator('POST', '/api/operator/catalogue', { catalogue: named, expect: version, note: 'another order' })
    await operator('GET', '/api/operator/catalogue/versions')
    await operator('GET', `/api/operator/catalogue/versions/${version}`)
    await operator('POST', `/api/operator/catalogue/versions/${version}/rollback`, { expect: version + 1 })
  },
}
