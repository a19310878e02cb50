import { expect } from 'chai'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { aPerson, startConsole } from '../../support/console.ts'

const CATALOGUE = '/api/operator/catalogue'

describe('the group of an account, for operators', () => {
  let web: TestConsole
  let operator: Person
  let customer: Person
  before(async () => {
    web = await startConsole()
    operator = await aPerson(web)
    customer = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
    const { catalogue, version } = (await web.get(CATALOGUE, operator.token)).json
    const groups = { partner: { priceBasisPoints: 8000, models: ['sandbox-chat'] } }
    const body = { catalogue: { ...catalogue, groups }, expect: version }
    const applied = await web.post(CATALOGUE, body, operator.token)
    expect(applied.json.changes).to.deep.equal([
      { part: 'group', name: 'partner', change: 'added', fields: [{ path: '', before: null, after: groups.partner }] },
    ])
  })
  after(async () => {
    // Other tests of this database have no groups.
    await web.db('accounts').update({ group_name: null })
    await web.stop()
  })

  const put = (group: unknown, of: Person = customer, by: Person = operator): Promise<Reply> =>
    send('PUT', `${web.url}/api/operator/accounts/${of.id}/group`, { key: by.token, body: { group } })

  it('is set, shown with the groups that there are, recorded, and lifted', async () => {
    const reply = await put('partner')
    expect([reply.status, reply.json.account?.group], reply.text).to.deep.equal([200, 'partner'])
    const shown = (await web.get(`/api/operator/accounts/${customer.id}`, operator.token)).json
    expect([shown.account.group, shown.groups]).to.deep.equal(['partner', ['partner']])
    expect(shown.actions[0]).to.deep.include({ action: 'account_grouped', details: { group: 'partner' } })
    const listed = (await web.get(`/api/operator/accounts?search=${customer.id}`, operator.token)).json
    expect(listed.data[0].group).to.equal('partner')
    expect((await put(null)).json.account.group).to.equal(null)
  })

  it('is refused where there is no such group or account, to customers, and of their own account', async () => {
    const unknown = await put('nope')
    expect([unknown.status, unknown.json.error, unknown.json.message]).to.deep.equal([
      400,
      'invalid_request',
      'group must be one of the catalogue.',
    ])
    expect((await put(5)).status).to.equal(400)
    expect((await put('partner', { ...customer, id: 'acc_00000000000000000000000000000000' })).status).to.equal(404)
    expect((await put('partner', customer, customer)).status).to.equal(403)
    expect((await put('partner', operator)).json.error).to.equal('forbidden')
  })

  it('keeps a catalogue without it from being applied, which its check says', async () => {
    await put('partner')
    const { catalogue, version } = (await web.get(CATALOGUE, operator.token)).json
    const { groups: _groups, ...without } = catalogue
    const check = await web.post(`${CATALOGUE}/check`, { catalogue: without }, operator.token)
    expect(check.json.faults).to.deep.equal([
      { path: 'groups.partner', message: 'is missing, and 1 account is in it: move them first (admin account group)' },
    ])
    const applied = await web.post(CATALOGUE, { catalogue: without, expect: version }, operator.token)
    expect([applied.status, applied.json.error]).to.deep.equal([400, 'invalid_request'])
    expect(applied.json.message).to.include('groups.partner: is missing')
    const dear = { ...catalogue, groups: { partner: { priceBasisPoints: 1 } } }
    const next = await web.post(CATALOGUE, { catalogue: dear, expect: version }, operator.token)
    expect(next.status, next.text).to.equal(200)
    await put(null)
    expect((await web.post(`${CATALOGUE}/check`, { catalogue: without }, operator.token)).json.faults).to.deep.equal([])
  })
})
