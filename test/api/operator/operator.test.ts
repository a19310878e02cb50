import { expect } from 'chai'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import { listActions } from '../../../src/shared/action-log/actions.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { Person } from '../../support/console.ts'
import { aPerson, aVisitor, useConsole, anAsker, useOperator } from '../../support/console.ts'
import { send } from '../../../scripts/harness/http.ts'

describe('/api/operator', () => {
  const web = useConsole()
  const operator = useOperator(web)

  const actionsOf = async (operator: Person, person: Person): Promise<Record<string, unknown>[]> =>
    (await web.get(`/api/operator/accounts/${person.id}`, operator.token)).json.actions

  it('refuses the next request after the role was taken away', async () => {
    const operator = await anAsker(web, 'admin')
    expect((await web.get('/api/operator/accounts', operator.token)).status).to.equal(200)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'user')
    expect((await web.get('/api/operator/accounts', operator.token)).status).to.equal(403)
  })

  it('finds accounts by a part of the address and by id, with any characters in the search', async () => {
    const person = await aVisitor(web)
    for (const search of [person.email, person.email.slice(2, -4).toUpperCase(), person.id]) {
      const { json } = await web.get(`/api/operator/accounts?search=${encodeURIComponent(search)}`, operator.token)
      const got = json.data.map((one: { id: string }) => one.id)
      expect(got, search).to.include(person.id)
    }
    for (const search of ['%', "'; DROP TABLE users; --", '_%_']) {
      expect(
        (await web.get(`/api/operator/accounts?search=${encodeURIComponent(search)}`, operator.token)).json.data,
        search,
      ).to.deep.equal([])
    }
  })

  it('sorts accounts, narrows them, and gives them in pages', async () => {
    const mark = `-${process.pid}-sorted@`
    const names = ['sorted-a', 'sorted-b', 'sorted-c', 'sorted-d'].map((name) => `${name}${mark}example.com`)
    const people = [names[1]!, names[0]!, names[3]!, names[2]!]
    const ids = await Promise.all(people.map(async (email) => parseId('account', (await aPerson(web, email)).id)!))
    const account = (at: number, change: object) => web.db('accounts').where({ id: ids[at]! }).update(change)
    await account(0, { debt: 7 })
    await account(2, { debt: 9, status: 'suspended' })
    await createKey(web.db, ids[1]!, 'used')
    await createKey(web.db, ids[3]!, 'used')
    const called = (at: number, time: string) =>
      web.db('api_keys').where({ account_id: ids[at]! }).update({ last_used_at: time })
    await called(1, '2030-01-01T00:00:00Z')
    await called(3, '2030-01-02T00:00:00Z')
    const found = async (query: string): Promise<string[]> => {
      const seen: string[] = []
      for (let cursor = ''; ;) {
        const path = `/api/operator/accounts?limit=2&search=${mark}&${query}&${cursor}`
        const { json } = await web.get(path.replaceAll('&&', '&').replace(/&$/, ''), operator.token)
        seen.push(...json.data.map(({ email }: { email: string }) => email.slice(0, 8)))
        if (json.nextCursor === null) return seen
        cursor = `cursor=${json.nextCursor}`
      }
    }
    for (const [query, expected] of [
      ['sort=email', 'abcd'],
      ['sort=debt', 'db'],
      ['sort=lastCall', 'ca'],
      ['standing=suspended', 'd'],
      ['standing=debt&sort=email', 'bd'],
      ['standing=unverified&sort=email', 'abcd'],
    ])
      expect(await found(query!), query).to.deep.equal(Array.from(expected!, (letter) => `sorted-${letter}`))
    for (const sort of ['newest', 'oldest', 'credits'])
      expect(await found(`sort=${sort}`), sort).to.have.members(['sorted-a', 'sorted-b', 'sorted-c', 'sorted-d'])
    await Promise.all(ids.map((id) => web.db('accounts').where({ id }).update({ debt: 0 })))
  })

  it('grants credits, and records who did it in the same transaction', async () => {
    const person = await aVisitor(web)
    const give = (body: object) =>
      web.post(`/api/operator/accounts/${person.id}/grants`, { amount: 70, origin: 'bonus', ...body }, operator.token)
    const wrong = {
      amount: [0, -5, 1.5, '5', 1e13],
      origin: ['signup'],
      note: ['a\0b'],
      expiresAt: ['2020-01-01', 'soon'],
    }
    for (const [field, values] of Object.entries(wrong))
      for (const value of values) expect((await give({ [field]: value })).status, `${field} ${value}`).to.equal(400)
    expect(await actionsOf(operator, person)).to.deep.equal([])
    const { status, json } = await give({ note: 'sorry' })
    expect([status, json.credits]).to.deep.equal([200, 70])
    expect((await web.get('/api/account', person.token)).json.credits).to.equal(70)
    const [action] = await actionsOf(operator, person)
    const due = { action: 'credits_granted', operatorEmail: operator.email, accountEmail: person.email }
    expect(action).to.deep.include(due)
    expect(action!.details).to.deep.equal({
      amount: 70,
      origin: 'bonus',
      grantId: json.grantId,
      note: 'sorry',
      expiresAt: null,
    })
    await expectBooksToBalance(web.db)
  })

  it('deducts credits once, says how many can be taken, and lets the rest become debt on request', async () => {
    const account = await anAccount(web.db, 50)
    const path = `/api/operator/accounts/${publicId('account', account.id)}`
    const take = (body: object) => web.post(`${path}/deductions`, { reason: 'granted twice', ...body }, operator.token)
    for (const body of [{ amount: 0 }, { amount: '5' }, { amount: 5, reason: ' ' }, { amount: 5, mayOwe: 'yes' }])
      expect((await take(body)).status, JSON.stringify(body)).to.equal(400)
    const first = await take({ amount: 20, idempotencyKey: 'a' })
    expect(first.json).to.deep.include({ taken: 20, owed: 0, credits: 30 })
    expect((await take({ amount: 20, idempotencyKey: 'a' })).json.deductionId).to.equal(first.json.deductionId)
    expect((await take({ amount: 21, idempotencyKey: 'a' })).json.error).to.equal('idempotency_conflict')
    const tooMuch = await take({ amount: 40 })
    expect([tooMuch.status, tooMuch.json.error]).to.deep.equal([409, 'credits_spent'])
    expect(tooMuch.json.message).to.contain('30 credits')
    expect((await take({ amount: 40, mayOwe: true })).json).to.deep.include({ taken: 30, owed: 10, credits: 0 })
    await expectBooksToBalance(web.db)
  })

  it('shows keys, sessions and the ledger of an account, and records each look once, whatever is asked', async () => {
    const another = await anAsker(web, 'admin')
    const person = await aVisitor(web)
    const path = `/api/operator/accounts/${person.id}`
    const id = parseId('account', person.id)!
    const looks = async (): Promise<(string | null)[]> =>
      (await listActions(web.db, { accountId: id, action: 'account_viewed' }, 10)).map((look) => look.operatorEmail)
    const views = ['', '/keys', '/sessions', '/ledger', '', '/ledger'].map((part) => `${path}${part}`)
    const answers = await Promise.all(views.map((view) => web.get(view, operator.token)))
    expect(answers.map(({ status }) => status)).to.deep.equal(views.map(() => 200))
    expect(answers[0]!.json.actions, 'a look changes nothing').to.deep.equal([])
    expect(answers[2]!.json.data).to.have.lengthOf(1)
    await web.get(path, another.token)
    expect(await looks()).to.deep.equal([another.email, operator.email])
    const anHourAgo = web.db.raw("created_at - interval '1 hour'")
    await web.db('operator_actions').where({ account_id: id }).update({ created_at: anHourAgo })
    await web.get(`${path}/sessions`, operator.token)
    expect(await looks()).to.deep.equal([operator.email, another.email, operator.email])
    const ended = await send('DELETE', `${web.url}${path}/sessions`, { key: operator.token })
    expect([ended.status, (await web.get('/api/account', person.token)).status]).to.deep.equal([200, 401])
    expect((await actionsOf(operator, person)).map(({ action }) => action)).to.deep.equal(['sessions_revoked'])
    const nobody = `/api/operator/accounts/${publicId('account', newId('account'))}`
    for (const part of ['', '/keys', '/sessions', '/ledger'])
      expect((await web.get(`${nobody}${part}`, operator.token)).status, part).to.equal(404)
  })

  it('lets no operator lock themselves out', async () => {
    const operator = await anAsker(web, 'admin')
    expect((await web.post(`/api/operator/accounts/${operator.id}/suspend`, {}, operator.token)).status).to.equal(400)
  })
})
