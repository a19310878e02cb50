import { expect } from 'chai'
import { accountCommands } from '../../src/admin/commands/accounts.ts'
import { bannerCommands } from '../../src/admin/commands/banner.ts'
import { keyCommands } from '../../src/admin/commands/keys.ts'
import { moneyCommands } from '../../src/admin/commands/money.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'
import type { Options } from '../../src/admin/command.ts'
import { webhookCommands } from '../../src/admin/commands/webhooks.ts'
import { OPERATOR_TYPES } from '../../src/shared/webhooks/types.ts'
import { createWebhook } from '../../src/shared/webhooks/webhooks.ts'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { useDb } from '../support/database.ts'
import { useAccount } from '../support/gateway.ts'
import { commandsOver } from '../support/commands.ts'

describe('commands of operators', () => {
  const db = useDb({ isOwn: true })

  const COMMANDS = [...accountCommands, ...keyCommands, ...moneyCommands, ...bannerCommands]

  describe("the operator's commands", () => {
    const account = useAccount({ db }, 10)

    const { run, refusal } = commandsOver({ db }, COMMANDS)

    it('grant credits of an origin, with an expiry and a note', async () => {
      const options = { origin: 'bonus', expires: '2090-01-31T00:00:00Z', note: 'for the trouble' }
      const { json, text } = await run('credits grant', [account.email.toUpperCase(), '500'], options)
      expect(json).to.have.all.keys('grantId', 'credits').and.to.include({ credits: 510 })
      expect(text).to.match(/510/)
      const given = await db('grants').where({ account_id: account.id, origin: 'bonus' })
      expect(given).to.have.length(1)
      expect(given[0]).to.deep.include({
        amount: 500,
        remaining: 500,
        note: 'for the trouble',
        expires_at: new Date('2090-01-31T00:00:00Z'),
      })
    })

    it('make a key that works, whose secret is printed', async () => {
      const { json, text } = await run('key create', [account.email, 'for the shop'])
      expect(json).to.have.all.keys('id', 'secret').and.to.include({ secret: text })
      expect((await createKeyLookup(db).find(text, ''))?.accountId).to.equal(account.id)
      const { name } = await db('api_keys').whereNot({ id: account.keyId }).orderBy('id', 'desc').first('name')
      expect(name).to.equal('for the shop')
    })

    it('show a call with its movements', async () => {
      const buyer = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 30 }])
      const id = await opened(verbs(db), buyer, 40)
      await verbs(db).settle(id, 'image', aResult(35))
      // oxlint-disable-next-line typescript/no-explicit-any
      const { call, ledger } = (await run('call show', [publicId('call', id)])).json as any
      expect(call).to.include({ id: publicId('call', id), status: 'succeeded', credits: 35, creditsPrecharged: 40 })
      expect(ledger.map((entry: { kind: string; amount: number }) => `${entry.kind} ${entry.amount}`)).to.deep.equal([
        'charge -30',
        'charge -10',
        'settlement 5',
      ])
    })

    it('grant of a known origin other than sign-up, with an expiry in the future', async () => {
      for (const origin of ['signup', 'theft', ''])
        expect(await refusal('credits grant', [account.email, '5'], { origin }), origin).to.match(
          /--origin must be one of purchase, bonus, adjustment/,
        )
      for (const expires of ['tomorrow', '', '5', '2090-13-45'])
        expect(await refusal('credits grant', [account.email, '5'], { expires }), expires).to.match(
          /^--expires must be a day or a time/,
        )
      expect(await refusal('credits grant', [account.email, '5'], { expires: '2001-01-01T00:00:00Z' })).to.match(
        /in the future/,
      )
      expect(await balanceOf(db, account.id)).to.equal(10)
    })

    it('deduct credits with a reason, never more than can be spent, unless the rest may become debt', async () => {
      expect(await refusal('credits deduct', [account.email, '5'])).to.match(/--note/)
      expect(await refusal('credits deduct', [account.email, '11'], { note: 'x' })).to.match(/Only 10 credits/)
      const once = { note: 'granted twice', key: 'ticket-7' }
      for (let times = 0; times < 2; times++)
        expect((await run('credits deduct', [account.email, '4'], once)).json).to.deep.include({ taken: 4, credits: 6 })
      expect(await refusal('credits deduct', [account.email, '5'], once)).to.match(/another deduction/)
      const rest = await run('credits deduct', [account.email, '8'], { note: 'the rest', debt: 'yes' })
      expect(rest.text).to.equal('Deducted 6 credits, and 2 became debt; the balance is 0.')
    })

    it('set and remove the banner, and refuse one without text, or that ends before it begins', async () => {
      expect(await refusal('banner set', [' '])).to.match(/must not be empty/)
      expect(await refusal('banner set', ['x'], { level: 'loud' })).to.match(/--level/)
      const times = { from: '2999-01-02T00:00:00Z', until: '2999-01-01T00:00:00Z' }
      expect(await refusal('banner set', ['x'], times)).to.match(/--until must be after/)
      await run('banner set', ['We move on Sunday'], { level: 'warning' })
      expect((await run('banner show')).text).to.match(/^warning, .* to its removal: We move on Sunday$/)
      expect((await run('banner remove')).json).to.deep.equal({ removed: true })
      expect((await run('banner show')).json).to.deep.equal({ banner: null })
    })

    it('show an account with its balance, and its debt if there is any', async () => {
      const before = await run('account show', [account.email])
      expect(before.json).to.include({ credits: 10 }).and.not.to.have.property('debt')
      expect(before.text).to.include('10 credits').and.not.to.include('debt')
      await verbs(db).settle(await opened(verbs(db), account, 10), 'image', aResult(17))
      const after = await run('account show', [account.email])
      expect(after.json).to.include({ credits: 0, debt: 7 })
      expect(after.text).to.include('0 credits, debt of 7 credits')
    })

    it('make no account twice, and none without a valid address and a strong password', async () => {
      expect(await refusal('account create', [account.email, 'secret123'])).to.match(/already/)
      expect(await refusal('account create', ['x', 'secret123'])).to.match(/not a valid e-mail address/)
      expect(await refusal('account create', ['new@example.com', 'short1'])).to.match(/password/i)
      expect(await db('users').where({ email: 'new@example.com' })).to.deep.equal([])
    })

    it('refuse unknown calls', async () => {
      for (const id of ['', 'x', `call_${'0'.repeat(32)}`, "call_'--"])
        expect(await refusal('call show', [id]), id).to.match(/^There is no call/)
    })
  })

  const APP_SECRET = 'a secret of the tests, long enough for it'

  describe('admin webhook', () => {
    const inherited = process.env.APP_SECRET
    before(() => {
      process.env.APP_SECRET = APP_SECRET
    })
    after(() => {
      if (inherited === undefined) delete process.env.APP_SECRET
      else process.env.APP_SECRET = inherited
    })

    type Told = {
      webhook: { id: string; url: string; types: string[] }
      webhooks: { id: string }[]
      secret: string
      delivery: string
      deliveries: { id: string }[]
    }
    const webhooks = commandsOver<Told>({ db }, webhookCommands)
    const run = async (name: string, ...asked: [args?: string[], options?: Options]) =>
      (await webhooks.run(`webhook ${name}`, ...asked)).json
    const refusal = (name: string, ...asked: [args?: string[], options?: Options]) =>
      webhooks.refusal(`webhook ${name}`, ...asked)

    it('adds one for all types of the house or for some, tests it, rotates its secret, and removes it', async () => {
      const { webhook, secret } = await run('add', ['https://house.example/events'])
      expect(webhook.types).to.deep.equal([...OPERATOR_TYPES])
      const some = await run('add', ['https://house.example/'], { types: 'mail.dead' })
      expect(some.webhook.types).to.deep.equal(['mail.dead'])
      expect((await run('list')).webhooks.map(({ id }) => id)).to.deep.equal([webhook.id, some.webhook.id])
      const { delivery } = await run('test', [webhook.id])
      expect(delivery).to.match(/^whd_/)
      expect((await run('deliveries', [webhook.id])).deliveries.map(({ id }) => id)).to.deep.equal([delivery])
      expect(await run('redeliver', [webhook.id, delivery])).to.deep.equal({ redelivered: true })
      expect(await refusal('redeliver', [some.webhook.id, delivery])).to.include('no delivery')
      expect(await refusal('redeliver', [webhook.id, 'nonsense'])).to.include('not the id')
      expect((await run('rotate', [webhook.id])).secret)
        .to.match(/^whsec_/)
        .and.not.equal(secret)
      for (const { id } of [webhook, some.webhook]) await run('remove', [id])
      expect((await run('list')).webhooks).to.deep.equal([])
    })

    it("refuses other types, addresses that are not public, and an account's webhook", async () => {
      expect(await refusal('add', ['https://house.example/'], { types: 'call.succeeded' })).to.include('--types')
      expect(await refusal('add', ['https://127.0.0.1/'])).to.include('address')
      const account = await anAccount(db)
      const fields = { url: 'https://receiver.example/', types: ['chat'] }
      const { webhook } = await createWebhook(db, createSecretBox({ APP_SECRET }), account.id, fields)
      for (const name of ['enable', 'rotate', 'test', 'deliveries', 'redeliver', 'remove']) {
        expect(await refusal(name, [webhook.id]), name).to.include('no webhook')
        expect(await refusal(name, ['nonsense']), name).to.include('not the id')
      }
    })
  })
})
