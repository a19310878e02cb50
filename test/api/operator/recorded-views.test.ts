import { expect } from 'chai'
import { z } from 'zod'
import { operator as asOperator } from '../../../src/api/endpoint/auth.ts'
import { endpoints } from '../../../src/api/routes.ts'
import type { Endpoint } from '../../../src/api/endpoint/declaration.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import { listActions } from '../../../src/shared/action-log/actions.ts'
import type { OperatorAction } from '../../../src/shared/action-log/actions.ts'
import { imageBody } from '../../../scripts/harness/calling.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import { anAsker } from '../../support/console.ts'
import { useFor } from '../../support/gateway.ts'

const ofOperators: Endpoint[] = (endpoints as readonly Endpoint[]).filter(({ auth }) => auth === asOperator)

const nameOf = ({ method, path }: Endpoint): string => `${method.toUpperCase()} ${path}`

/** What names an account, or what is its own, in an answer. */
const OF_ACCOUNTS = /"(accountId|accountEmail|email|recipient|resultUrl|grants|allowedIps|balanceAfter|userAgent)"/

/** Those that show accounts and are no look at one: the log of operators itself, and the figures of the home page. */
const NO_LOOKS = ['GET /api/operator/actions', 'GET /api/operator/overview']

type Customer = { id: string; email: string; key: string; keyId: string; callId: string; payment: string }

describe("what operators see of others' accounts", () => {
  const gateway = useFor(
    async () =>
      startGateway({
        // Of its own: a page that shows one account alone is a look at that account.
        DATABASE_URL: await newDatabaseUrl(),
        PAYMENTS: 'stripe',
        STRIPE_SECRET_KEY: 'sk_test_looks',
        STRIPE_WEBHOOK_SECRET: 'whsec_of_looks',
      }),
    ({ stop }) => stop(),
  )

  /** A customer with a key, a call, a payment, a debt and a dead letter. */
  async function aCustomer(): Promise<Customer> {
    const { id, email, ask } = await anAsker(gateway)
    const accountId = parseId('account', id)!
    await grantCredits(gateway.db, null, { id: newId('grant'), accountId, amount: 100, origin: 'bonus' })
    const { secret, key } = (await ask('POST', '/api/keys', { name: 'server' })).json
    const call = await post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
    const { payment } = (await ask('POST', '/api/billing/checkout', { pack: 'starter' })).json
    const mail = newId('mail')
    await requestMail(gateway.db, { id: mail, kind: 'reset', recipient: email, userId: null })
    await gateway.db('mails').where({ id: mail }).update({ status: 'dead', finished_at: gateway.db.fn.now() })
    return { id, email, key: secret, keyId: key.id, callId: call.headers.get('x-call-id')!, payment: payment.id }
  }

  it('is declared: no endpoint shows an account by being one that shows nobody', () => {
    const silent = ofOperators.filter(({ views }) => views === 'nobody')
    const showing = silent.filter(({ answers }) => {
      const { schema } = answers[200] ?? {}
      return schema && OF_ACCOUNTS.test(JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })))
    })
    expect(showing.map(nameOf)).to.have.members(NO_LOOKS)
    expect(ofOperators.filter(({ views }) => views === undefined).map(nameOf)).to.deep.equal([])
    const about = silent.filter(({ path }) => path.includes('/accounts/') || path.startsWith('/api/operator/keys/'))
    expect(about.map(nameOf)).to.deep.equal([])
  })

  it('is recorded at every endpoint: with whom and which account, or the list and its filter', async () => {
    const [one, other] = [await aCustomer(), await aCustomer()]
    const theirs = [one, other].map(({ id }) => parseId('account', id)!)
    await gateway.db('accounts').whereIn('id', theirs).update({ debt: 5 })
    const ONE = one.id
    const asked: Record<string, [path: string, expected: string | object]> = {
      'GET /api/operator/accounts': [
        `/api/operator/accounts?search=${encodeURIComponent('@example.com')}&limit=50`,
        { list: '/api/operator/accounts', search: '@example.com', sort: 'newest' },
      ],
      'GET /api/operator/accounts/:id': [`/api/operator/accounts/${ONE}`, ONE],
      'GET /api/operator/accounts/:id/keys': [`/api/operator/accounts/${ONE}/keys`, ONE],
      'GET /api/operator/accounts/:id/sessions': [`/api/operator/accounts/${ONE}/sessions`, ONE],
      'GET /api/operator/accounts/:id/ledger': [`/api/operator/accounts/${ONE}/ledger`, ONE],
      'GET /api/operator/calls': [
        '/api/operator/calls?modality=image',
        { list: '/api/operator/calls', modality: 'image' },
      ],
      'GET /api/operator/calls/:id': [`/api/operator/calls/${one.callId}`, ONE],
      'GET /api/operator/debts': ['/api/operator/debts', { list: '/api/operator/debts' }],
      'GET /api/operator/mails': ['/api/operator/mails', { list: '/api/operator/mails' }],
      'GET /api/operator/payments': ['/api/operator/payments?limit=5', { list: '/api/operator/payments' }],
      'GET /api/operator/payments/:id': [`/api/operator/payments/${one.payment}`, ONE],
      'POST /api/operator/payments/:id/sync': [`/api/operator/payments/${one.payment}/sync`, ONE],
    }
    const declared = ofOperators.filter(({ views }) => views === 'accounts').map(nameOf)
    expect(Object.keys(asked), 'every one is asked here').to.have.members(declared)
    for (const [name, [path, expected]] of Object.entries(asked)) {
      const operator = await anAsker(gateway, 'admin')
      for (let times = 0; times < 2; times++) {
        const { status, text } = await operator.ask(name.split(' ')[0]!, path)
        expect(status, `${name} ${text}`).to.equal(200)
      }
      const looks = await looksOf(operator.email)
      expect(looks, name).to.have.lengthOf(1)
      if (typeof expected === 'string') expect(looks[0], name).to.deep.include({ accountId: expected, details: {} })
      else expect(looks[0], name).to.deep.include({ accountId: null, details: expected })
    }
    await gateway.db('accounts').whereIn('id', theirs).update({ debt: 0 })
  })

  const looksOf = async (email: string): Promise<OperatorAction[]> =>
    (await listActions(gateway.db, { action: 'account_viewed' }, 100)).filter((look) => look.operatorEmail === email)

  it('is recorded as a look at one account where a list is narrowed to it, and keeps no address of it', async () => {
    const customer = await aCustomer()
    const operator = await anAsker(gateway, 'admin')
    await operator.ask('GET', `/api/operator/calls?account=${encodeURIComponent(customer.email)}`)
    await operator.ask('GET', `/api/operator/accounts?search=${encodeURIComponent(customer.email)}`)
    const [look, ...more] = await looksOf(operator.email)
    expect([look!.accountId, look!.details, more]).to.deep.equal([customer.id, {}, []])
    const [silent, wanted] = [await anAsker(gateway), await anAsker(gateway, 'admin')]
    await wanted.ask('GET', `/api/operator/calls?account=${silent.id}`)
    expect((await looksOf(wanted.email)).map(({ accountId }) => accountId)).to.deep.equal([silent.id])
    await aCustomer()
    await wanted.ask('GET', `/api/operator/accounts?search=${encodeURIComponent('n@example.com')}`)
    await wanted.ask('GET', '/api/operator/accounts?search=account-')
    await wanted.ask('GET', '/api/operator/overview')
    const lists = (await looksOf(wanted.email)).flatMap(({ details }) => details['search'] ?? [])
    expect(lists).to.deep.equal(['account-'])
  })
})
