import { expect } from 'chai'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { listActions } from '../../../src/shared/action-log/actions.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PASSWORD, aPerson, logIn, useConsole } from '../../support/console.ts'
import { failOrder } from '../../../src/shared/payments/ending.ts'
import { placeOrder } from '../../../src/shared/payments/orders.ts'
import { anOrder } from '../../shared/payments/fixture.ts'
import { opened, verbs } from '../../shared/calls/opening.ts'

describe('an owner who deletes their account', () => {
  const web = useConsole()

  it('asks for password and address, waits for calls and payments, gives up credits, forgets the owner', async () => {
    const person = await aPerson(web)
    const id = parseId('account', person.id)!
    const other = await logIn(web, person.email)
    const key = await createKey(web.db, id, 'laptop')
    await aGrant(web.db, id, { amount: 100 })
    const calls = verbs(web.db)
    const call = await opened(calls, { id, keyId: key.id }, 40)
    const remove = (body: object) =>
      web.post('/api/auth/delete', { email: person.email, password: PASSWORD, ...body }, person.token)
    const refusal = async (body: object): Promise<string> => {
      const { status, json } = await remove(body)
      return `${status} ${json.error}: ${json.message}`
    }

    expect(await refusal({ password: 'wrong horse 1' })).to.match(/^400 wrong_password/)
    expect(await refusal({ email: 'somebody@example.com' })).to.equal(
      '400 invalid_request: email must be the address of your account.',
    )
    expect(await refusal({ giveUpCredits: true })).to.equal(
      '409 conflict: Calls that have not ended yet: 1. Try again when they have.',
    )
    await calls.refund(call, gatewayError('upstream_failed'))
    // Giving up credits gives up no money that is on its way.
    const order = await placeOrder(web.db, anOrder(id))
    expect(await refusal({ giveUpCredits: true })).to.match(/^409 conflict/)
    await failOrder(web.db, order, 'declined')
    const owes = (debt: number) => web.db('accounts').where({ id }).update({ debt })
    await owes(40)
    expect(await refusal({ giveUpCredits: true })).to.equal(
      '409 conflict: The account owes 40 credits. Get credits to repay them, then delete it.',
    )
    await owes(0)
    expect(await refusal({})).to.equal(
      '409 conflict: The account has 100 credits, which would be lost. Give them up to delete it.',
    )
    expect((await web.get('/api/auth/me', other)).status).to.equal(200)

    expect((await remove({ email: person.email.toUpperCase(), giveUpCredits: true })).status).to.equal(200)
    for (const token of [person.token, other]) expect((await web.get('/api/auth/me', token)).status).to.equal(401)
    expect((await web.get('/v1/models', key.secret)).status).to.equal(401)
    expect((await web.post('/api/auth/login', { email: person.email, password: PASSWORD })).status).to.equal(401)
    expect(await web.db('mails').where({ recipient: person.email })).to.deep.equal([])
    const networks = web.db('login_networks').join('members', 'members.user_id', 'login_networks.user_id')
    expect(await networks.where({ account_id: id })).to.deep.equal([])
    const [action] = await listActions(web.db, { accountId: id }, 1)
    expect(action).to.include({ action: 'account_deleted', operatorEmail: action!.accountEmail })
    // The address is free again, for an account that has nothing of the old one.
    expect((await aPerson(web, person.email)).id).not.to.equal(person.id)
    await expectBooksToBalance(web.db)
  })
})
