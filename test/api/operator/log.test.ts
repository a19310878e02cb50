import { expect } from 'chai'
import { newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import { setBanner } from '../../../src/shared/operators/banners.ts'
import { setAccountRole, setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { aPerson, consoleConfig, startConsole } from '../../support/console.ts'

describe("the operators' log, dead letters and banner", () => {
  // A database of its own: they are everybody's.
  let web: TestConsole
  let operator: Person
  before(async () => {
    web = await startConsole(await consoleConfig({ DATABASE_URL: await newDatabaseUrl() }))
    operator = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
  })
  after(() => web.stop())

  const ask = (method: string, path: string, body?: object) =>
    send(method, `${web.url}/api/operator/${path}`, { key: operator.token, ...(body && { body }) })

  it('narrows the log by account, operator, action and time, in pages, and exports it', async () => {
    const person = await aPerson(web)
    const id = parseId('account', person.id)!
    await ask('POST', `accounts/${person.id}/grants`, { amount: 5, origin: 'bonus', note: '=1+1, "so"' })
    await setAccountStatus(web.db, null, id, 'suspended')
    await setAccountStatus(web.db, null, id, 'active')
    const kinds = async (query: string): Promise<string[]> => {
      const seen: string[] = []
      for (let cursor = ''; ;) {
        const { json } = await ask('GET', `actions?limit=1&${query}${cursor}`)
        seen.push(...json.data.map(({ action }: { action: string }) => action))
        if (json.nextCursor === null) return seen
        cursor = `&cursor=${json.nextCursor}`
      }
    }
    const all = ['account_activated', 'account_suspended', 'credits_granted']
    expect(await kinds(`account=${person.id}`)).to.deep.equal(all)
    expect(await kinds(`account=${person.email}&operator=command%20line`)).to.deep.equal(all.slice(0, 2))
    expect(await kinds(`operator=${operator.email}`)).to.deep.equal(['credits_granted'])
    expect(await kinds(`account=${person.id}&action=account_suspended&from=2020-01-01`)).to.deep.equal([all[1]])
    expect(await kinds(`account=${person.id}&to=2020-01-01`)).to.deep.equal([])
    expect(await kinds('account=nobody@example.com')).to.deep.equal([])
    expect((await ask('GET', 'actions?action=theft')).status).to.equal(400)
    const { headers, text } = await ask('GET', `exports/actions?account=${person.id}`)
    expect(headers.get('content-type')).to.contain('text/csv')
    const [heading, , ...lines] = text.trim().split('\r\n')
    expect(heading).to.equal('createdAt,operator,action,accountId,account,details,id')
    expect(lines).to.have.lengthOf(3)
    expect(lines[2]).to.contain(`,${operator.email},credits_granted,${person.id},${person.email},"{""note"":""=1+1,`)
    expect((await kinds(`account=${person.id}`))[0], 'an export is an action').to.equal('actions_exported')
  })

  it('lists dead letters in pages, and discards them for good', async () => {
    const ids = [newId('mail'), newId('mail'), newId('mail')].toSorted()
    for (const id of ids) await requestMail(web.db, { id, kind: 'reset', recipient: 'lost@example.com', userId: null })
    await web.db('mails').whereIn('id', ids).update({ status: 'dead', finished_at: web.db.fn.now() })
    const first = (await ask('GET', 'mails?limit=2')).json
    const second = (await ask('GET', `mails?limit=2&cursor=${first.nextCursor}`)).json
    expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).to.deep.equal(
      ids.toReversed().map((id) => publicId('mail', id)),
    )
    const discard = () => ask('DELETE', `mails/${publicId('mail', ids[0]!)}`)
    expect([(await discard()).status, (await discard()).status]).to.deep.equal([200, 404])
    expect((await ask('POST', `mails/${publicId('mail', ids[0]!)}/retry`)).status, 'for good').to.equal(404)
    expect((await ask('GET', 'actions?action=mail_discarded')).json.data).to.have.lengthOf(1)
  })

  it('shows everybody the banner from its time on, one at a time, until it is over or removed', async () => {
    const shown = async () => (await get(`${web.url}/api/banner`)).json.banner?.text ?? null
    expect(await shown()).to.equal(null)
    for (const body of [{}, { text: ' ' }, { text: 'x'.repeat(301) }, { text: 'x', level: 'loud' }])
      expect((await ask('PUT', 'banner', body)).status, JSON.stringify(body)).to.equal(400)
    for (const end of ['2020-01-01', '2998-01-01'])
      expect((await ask('PUT', 'banner', { text: 'x', from: '2999-01-01', until: end })).status).to.equal(400)
    const coming = (await ask('PUT', 'banner', { text: 'Later', from: '2999-01-01' })).json.banner
    expect(coming).to.include({ text: 'Later', level: 'info', until: null })
    await Promise.all(
      ['One', 'Two', 'Three'].map((text) =>
        setBanner(web.db, null, { id: newId('banner'), text, level: 'critical', from: null, until: null }),
      ),
    )
    const standing = (await ask('GET', 'banner')).json.banner
    await until('it is shown', async () => (await shown()) === standing.text)
    expect((await ask('DELETE', 'banner')).status).to.equal(200)
    expect((await ask('GET', 'banner')).json.banner).to.equal(null)
    await until('it is gone', async () => (await shown()) === null)
    const actions = (await ask('GET', 'actions')).json.data.map(({ action }: { action: string }) => action)
    expect(actions.slice(0, 5)).to.deep.equal([
      'banner_removed',
      'banner_set',
      'banner_set',
      'banner_set',
      'banner_set',
    ])
  })
})
