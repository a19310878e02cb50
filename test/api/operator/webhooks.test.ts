import { expect } from 'chai'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { send } from '../../../scripts/harness/http.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { OPERATOR_TYPES } from '../../../src/shared/webhooks/types.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { aPerson, consoleConfig, startConsole } from '../../support/console.ts'

describe('/api/operator/webhooks', () => {
  // A database of its own: they are all operators'.
  let web: TestConsole
  let operator: Person
  before(async () => {
    web = await startConsole(await consoleConfig({ DATABASE_URL: await newDatabaseUrl() }))
    operator = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
  })
  after(() => web.stop())

  const ask = (method: string, path: string, body?: object, who: Person = operator) =>
    send(method, `${web.url}/api/${path}`, { key: who.token, ...(body && { body }) })

  it('makes, tests, rotates, disables, enables and deletes one, and records every change', async () => {
    const made = (await ask('POST', 'operator/webhooks', { url: 'https://house.example/', types: ['mail.dead'] })).json
    const path = `operator/webhooks/${made.webhook.id}`
    expect((await ask('GET', 'operator/webhooks')).json.data).to.deep.equal([made.webhook])
    expect((await ask('POST', `${path}/test`)).json.delivery).to.match(/^whd_/)
    const { secret } = (await ask('POST', `${path}/rotate`)).json
    expect(secret)
      .to.match(/^whsec_/)
      .and.not.equal(made.secret)
    expect((await ask('PATCH', path, { disabled: true })).json.webhook.disabledReason).to.equal('owner')
    expect((await ask('POST', `${path}/test`)).status).to.equal(409)
    expect((await ask('PATCH', path, { disabled: false })).json.webhook.disabledReason).to.equal(null)
    expect((await ask('DELETE', path)).json).to.deep.equal({ ok: true })
    expect((await ask('GET', 'operator/webhooks')).json.data).to.deep.equal([])
    const { data } = (await ask('GET', 'operator/actions')).json
    const recorded = (data as { action: string; details: { webhook?: string } }[])
      .filter(({ details }) => details.webhook === made.webhook.id)
      .map(({ action }) => action)
    const changes = ['removed', 'changed', 'changed', 'rotated', 'created']
    expect(recorded).to.deep.equal(changes.map((change) => `webhook_${change}`))
    expect(JSON.stringify(data)).not.to.include(secret)
  })

  it('shows the deliveries of one a page at a time, and sends an event again', async () => {
    const made = (await ask('POST', 'operator/webhooks', { url: 'https://house.example/', types: ['mail.dead'] })).json
    const path = `operator/webhooks/${made.webhook.id}`
    expect((await ask('GET', path)).json.webhook).to.deep.equal(made.webhook)
    const ids: string[] = []
    for (let nth = 0; nth < 3; nth += 1) ids.unshift((await ask('POST', `${path}/test`)).json.delivery)
    const first = (await ask('GET', `${path}/deliveries?limit=2`)).json
    const second = (await ask('GET', `${path}/deliveries?limit=2&cursor=${first.nextCursor}`)).json
    expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).to.deep.equal(ids)
    const again = `${path}/deliveries/${ids[0]}/redeliver`
    expect((await ask('POST', again)).json).to.deep.equal({ ok: true })
    expect((await ask('POST', `${path}/deliveries/${ids[0]!.replaceAll(/\d/g, '0')}/redeliver`)).status).to.equal(404)
    await ask('PATCH', path, { disabled: true })
    expect((await ask('POST', again)).status).to.equal(409)
    await ask('DELETE', path)
  })

  it('are nothing to customers, and lead to no webhook of theirs', async () => {
    const customer = await aPerson(web)
    expect((await ask('GET', 'operator/webhooks', undefined, customer)).status).to.equal(403)
    const theirs = await ask('POST', 'webhooks', { url: 'https://theirs.example/', types: ['chat'] }, customer)
    const path = `operator/webhooks/${theirs.json.webhook.id}`
    const replies = [
      await ask('PATCH', path, { disabled: true }),
      await ask('POST', `${path}/rotate`),
      await ask('POST', `${path}/test`),
      await ask('GET', path),
      await ask('GET', `${path}/deliveries`),
      await ask('POST', `${path}/deliveries/whd_${'0'.repeat(32)}/redeliver`),
      await ask('DELETE', path),
    ]
    expect(replies.map(({ status }) => status)).to.deep.equal(replies.map(() => 404))
    const refused = await ask('POST', 'operator/webhooks', { url: 'https://house.example/', types: ['chat'] })
    expect([refused.status, refused.json.message]).to.deep.equal([
      400,
      `types[0] must be one of ${OPERATOR_TYPES.join(', ')}.`,
    ])
  })
})
