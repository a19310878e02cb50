import { expect } from 'chai'
import { aVisitor, useConsole } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { send } from '../../../scripts/harness/http.ts'
import { newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import { LISTED_TYPES } from '../../../src/shared/webhooks/types.ts'

const URL_OF_ONE = 'https://receiver.example/events'

describe('/api/webhooks', () => {
  const web = useConsole()
  let person: Person
  beforeEach(async () => {
    person = await aVisitor(web)
  })

  const ask = (method: string, path: string, body?: unknown, who: Person = person) =>
    send(method, `${web.url}/api/webhooks${path}`, { key: who.token, body })
  const make = async (fields: object = {}) => {
    const reply = await ask('POST', '', { url: URL_OF_ONE, types: ['call.succeeded'], ...fields })
    expect(reply.status, reply.text).to.equal(200)
    return reply.json as { webhook: { id: string }; secret: string }
  }

  it('makes a webhook, whose secret is shown once, lists it, changes it and deletes it', async () => {
    const { webhook, secret } = await make()
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(webhook).to.include({ url: URL_OF_ONE, disabledAt: null, disabledReason: null })
    const listed = await ask('GET', '')
    expect(listed.json.data).to.deep.equal([webhook])
    expect(listed.text).not.to.include(secret)
    const changed = await ask('PATCH', `/${webhook.id}`, { url: 'https://other.example:8443/', types: ['chat'] })
    expect(changed.json.webhook).to.deep.include({ url: 'https://other.example:8443/', types: ['chat'] })
    expect((await ask('GET', `/${webhook.id}`)).json.webhook).to.deep.equal(changed.json.webhook)
    expect((await ask('DELETE', `/${webhook.id}`)).json).to.deep.equal({ ok: true })
    expect((await ask('GET', '')).json.data).to.deep.equal([])
  })

  it('disables and enables, and sends no test while disabled', async () => {
    const { webhook } = await make()
    await ask('POST', `/${webhook.id}/test`)
    const off = await ask('PATCH', `/${webhook.id}`, { disabled: true })
    expect(off.json.webhook.disabledReason).to.equal('owner')
    expect((await ask('POST', `/${webhook.id}/test`)).status).to.equal(409)
    const [{ id: delivery }] = (await ask('GET', `/${webhook.id}/deliveries`)).json.data
    expect((await ask('POST', `/${webhook.id}/deliveries/${delivery}/redeliver`)).status).to.equal(409)
    const on = await ask('PATCH', `/${webhook.id}`, { disabled: false })
    expect(on.json.webhook).to.include({ disabledAt: null, disabledReason: null })
  })

  it('lists deliveries a page at a time, newest first, and sends one again', async () => {
    const { webhook } = await make()
    const ids: string[] = []
    for (let nth = 0; nth < 3; nth += 1) ids.unshift((await ask('POST', `/${webhook.id}/test`)).json.delivery)
    const first = (await ask('GET', `/${webhook.id}/deliveries?limit=2`)).json
    const second = (await ask('GET', `/${webhook.id}/deliveries?limit=2&cursor=${first.nextCursor}`)).json
    expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).to.deep.equal(ids)
    expect(first.data[0]).to.include({ type: 'webhook.test', tries: 0, answerStatus: null })
    expect(second.nextCursor).to.equal(null)
    expect((await ask('POST', `/${webhook.id}/deliveries/${ids[0]}/redeliver`)).json).to.deep.equal({ ok: true })
    const nobodys = publicId('delivery', newId('delivery'))
    expect((await ask('POST', `/${webhook.id}/deliveries/${nobodys}/redeliver`)).status).to.equal(404)
  })

  it('sends at most 60 a minute on demand, so that nobody is flooded through it', async () => {
    const { webhook } = await make()
    const { delivery } = (await ask('POST', `/${webhook.id}/test`)).json
    const paths = Array.from({ length: 60 }, (_, nth) => (nth % 2 ? '/test' : `/deliveries/${delivery}/redeliver`))
    const replies = await Promise.all(paths.map((path) => ask('POST', `/${webhook.id}${path}`)))
    expect(replies.filter(({ status }) => status === 429)).to.have.length(1)
    expect((await ask('GET', `/${webhook.id}/deliveries?limit=1`)).status, 'looking is free').to.equal(200)
  })

  it('refuses the eleventh, also of two that are made at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => ask('POST', '', { url: URL_OF_ONE, types: ['chat'] })),
    )
    expect(replies.filter(({ status }) => status === 200)).to.have.length(10)
    const refused = replies.find(({ status }) => status === 409)
    expect(refused!.json.error).to.equal('too_many_webhooks')
  })

  it('answers 404 to a test of a webhook that is deleted meanwhile', async () => {
    const { webhook } = await make()
    const deletion = await web.db.transaction()
    await deletion('webhooks')
      .where({ id: parseId('webhook', webhook.id) })
      .delete()
    const tested = ask('POST', `/${webhook.id}/test`)
    await untilItWaits(web.db, '%webhook_deliveries%')
    await deletion.commit()
    expect((await tested).status).to.equal(404)
  })

  it("shows nobody another account's, and changes nothing of it", async () => {
    const { webhook } = await make()
    const { delivery } = (await ask('POST', `/${webhook.id}/test`)).json
    const stranger = await aVisitor(web)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { disabled: true }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', {}],
      ['POST', '/test', {}],
      ['GET', '/deliveries', undefined],
      ['POST', `/deliveries/${delivery}/redeliver`, {}],
    ] as const) {
      const reply = await ask(method, `/${webhook.id}${path}`, body, stranger)
      expect(reply.status, `${method} ${path}`).to.equal(404)
    }
    expect((await ask('GET', `/${webhook.id}`)).json.webhook).to.deep.equal(webhook)
  })

  it('names the field that is wrong', async () => {
    const bad: [string, object][] = [
      ['url', { url: undefined }],
      ['url', { url: 7 }],
      ['url', { url: 'https://127.0.0.1/' }],
      ['url', { url: `https://receiver.example/${'x'.repeat(2048)}` }],
      ['types', { types: undefined }],
      ['types', { types: [] }],
      ['types', { types: ['call.cancelled'] }],
      ['types', { types: ['chat', 'chat'] }],
      ['types', { types: Array.from({ length: 1000 }, () => LISTED_TYPES[0]) }],
    ]
    const { webhook } = await make()
    for (const [field, fields] of bad) {
      const reply = await ask('POST', '', { url: URL_OF_ONE, types: ['chat'], ...fields })
      expect(reply.status, JSON.stringify(fields).slice(0, 80)).to.equal(400)
      expect(reply.json.message, JSON.stringify(fields).slice(0, 80)).to.include(field)
      if (Object.values(fields)[0] === undefined) continue
      expect((await ask('PATCH', `/${webhook.id}`, fields)).status, 'as a change').to.equal(400)
    }
    expect((await ask('PATCH', `/${webhook.id}`, { disabled: 'no' })).json.message).to.include('disabled')
  })
})
