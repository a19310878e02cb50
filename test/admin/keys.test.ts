import { expect } from 'chai'
import { accountCommands } from '../../src/admin/commands/accounts.ts'
import { keyCommands } from '../../src/admin/commands/keys.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import type { ApiKey } from '../../src/shared/identity/shown-key.ts'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { useDb } from '../support/database.ts'
import { commandsOver } from '../support/commands.ts'
import type { Options } from '../../src/admin/command.ts'

describe('the commands of limits, keys and groups', () => {
  const db = useDb({ isOwn: true })
  before(async () => {
    const content = { ...sandboxCatalogue('http://127.0.0.1:9'), groups: { partner: { rateLimit: 600 }, idle: {} } }
    await applyCatalogue(db, { content, source: 'command', operator: null, note: null, expect: null })
  })

  // oxlint-disable-next-line typescript/no-explicit-any
  const { run: command, refusal } = commandsOver<any>({ db }, [...accountCommands, ...keyCommands])

  describe('account set', () => {
    const run = (verb: string, email: string, options: Options = {}) => command(`account ${verb} `, [email], options)
    it('sets the limits of an account and lifts them, with a record, and show tells those that it has', async () => {
      const { id, email } = await anAccount(db)
      expect((await run('show', email)).json).not.to.have.property('limits')
      const set = await run('set', email, { rate: '600', outstanding: '20', 'tokens-per-minute': '90000' })
      expect(set.json.limits).to.deep.equal({ rateLimit: 600, maxOutstanding: 20, tokensPerMinute: 90_000 })
      expect(set.text).to.match(/requests a minute: 600, calls at once: 20, tokens a minute: 90000$/)
      const lifted = await run('set', email, { rate: 'none', 'tokens-per-minute': 'none' })
      expect(lifted.json.limits).to.deep.equal({ rateLimit: null, maxOutstanding: 20, tokensPerMinute: null })
      const shown = await run('show', email)
      expect(shown.json).to.deep.include({ email, limits: lifted.json.limits })
      expect(shown.text).to.match(/requests a minute: as usual, calls at once: 20, tokens a minute: any number$/)
      const found = (await listActions(db, { accountId: id }, 5)).map(({ action, details }) => [action, details])
      expect(found).to.deep.equal([
        ['account_limited', { rateLimit: null, tokensPerMinute: null }],
        ['account_limited', { rateLimit: 600, maxOutstanding: 20, tokensPerMinute: 90_000 }],
      ])
    })

    it('says which option is wrong, and changes nothing', async () => {
      const { id, email } = await anAccount(db)
      const FAULTS: [Record<string, string>, RegExp][] = [
        [{}, /^Name at least one limit/],
        [{ rate: '0' }, /^--rate must be at least 1/],
        [{ outstanding: '1.5' }, /^--outstanding must be/],
        [{ outstanding: '1000001' }, /^--outstanding must be at most/],
        [{ 'tokens-per-minute': 'many' }, /^--tokens-per-minute must be/],
      ]
      for (const [options, said] of FAULTS) {
        expect(await refusal('account set ', [email], options)).to.match(said)
      }
      expect(await listActions(db, { accountId: id }, 5)).to.deep.equal([])
    })
  })

  describe("the operator's commands of keys", () => {
    const run = (verb: string, args: string[], options: Options = {}) => command(`key ${verb}`, args, options)
    const keyOf = async (...asked: Parameters<typeof run>): Promise<ApiKey> =>
      (await run(...asked)).json.key as unknown as ApiKey

    it('warn of models that are not in the catalogue, which may come to be there', async () => {
      const account = await anAccount(db)
      const { warnings, json } = await run('set', [publicId('key', account.keyId)], { models: 'sandbox-chat,bogus' })
      expect(warnings).to.include('There is no model "bogus" at the moment.')
      expect((json.key as ApiKey).models).to.deep.equal(['sandbox-chat', 'bogus'])
    })

    it('list keys, limit them and lift limits, with a record of each change', async () => {
      const account = await anAccount(db)
      const id = publicId('key', account.keyId)
      const key = await keyOf('set', [id], {
        models: 'sandbox-chat, sandbox-image',
        ips: '10.0.0.0/8,::1',
        expires: '2999-01-01T00:00:00Z',
        rate: '5',
        outstanding: '2',
        budget: '500',
        period: 'month',
      })
      expect(key).to.deep.include({
        models: ['sandbox-chat', 'sandbox-image'],
        allowedIps: ['10.0.0.0/8', '::1/128'],
        rateLimit: 5,
        maxOutstanding: 2,
      })
      const { text, json } = await run('list', [account.email])
      expect(json.keys).to.deep.equal([key])
      expect(text).to.match(/rate 5 .*budget 0 of 500 credits \(month\)/)
      const lifted = await keyOf('set', [id], { models: 'none', budget: 'none', rate: 'none' })
      expect(lifted).to.deep.include({ models: null, budget: null, rateLimit: null, maxOutstanding: 2 })
      const actions = await listActions(db, { accountId: account.id }, 5)
      expect(actions.map(({ action }) => action)).to.deep.equal(['key_limited', 'key_limited'])
    })

    it('rotate with a grace, which its owner is told by mail, and revoke', async () => {
      const account = await anAccount(db)
      const id = publicId('key', account.keyId)
      const keys = createKeyLookup(db)
      const { json, text } = await run('rotate', [id], { grace: '60' })
      expect(text).to.equal(json.secret)
      for (const secret of [account.key, text]) expect((await keys.find(secret, ''))?.keyId).to.equal(account.keyId)
      const mails = await db('mails').where({ recipient: account.email, kind: 'key_rotated' })
      expect(mails.map(({ details }) => details)).to.deep.equal([
        { name: 'test', hint: `${text.slice(0, 7)}…${text.slice(-4)}`, secret: 'replaced' },
      ])
      await run('revoke', [id])
      for (const secret of [account.key, text]) expect(await keys.find(secret, '')).to.equal(null)
    })

    const FAULTS: [verb: string, options: Record<string, string>, said: RegExp][] = [
      ['set', { budget: '1.5' }, /^--budget /],
      ['set', { budget: '99999999999999999' }, /^--budget /],
      ['set', { budget: '5', period: 'year' }, /^--period must be one of/],
      ['set', {}, /^Name at least one thing to change/],
      ['set', { period: 'day' }, /^--period belongs to --budget/],
      ['set', { ips: '10.0.0.0/40' }, /^--ips must be an IP address/],
      ['set', { modalities: 'audio' }, /^--modalities must be one of/],
      ['set', { expires: '2000-01-01T00:00:00Z' }, /^--expires must be in the future/],
      ['set', { rate: '0' }, /^--rate must be at least 1/],
      ['set', { rate: '1000000000' }, /^--rate must be at most that of the account, \d+\.$/],
      ['rotate', { grace: '604801' }, /^--grace must be/],
    ]
    it('say which option is wrong, and change nothing', async () => {
      const account = await anAccount(db)
      const id = publicId('key', account.keyId)
      for (const [verb, options, said] of FAULTS)
        expect(await refusal(`key ${verb}`, [id], options), JSON.stringify(options)).to.match(said)
      for (const [verb, at] of Object.entries({ set: 'x', rotate: 'key_1', revoke: '' }))
        expect(await refusal(`key ${verb}`, [at])).to.match(/is not the id of a key/)
      expect(await listActions(db, { accountId: account.id }, 5)).to.deep.equal([])
    })
  })

  describe("the operator's command of groups", () => {
    const run = (verb: string, args: string[], options: Options = {}) => command(`account ${verb}`, args, options)
    it('puts an account into a group by its address or its id, and out of it, with a record of each', async () => {
      const { id, email } = await anAccount(db)
      const done = await run('group', [email, 'partner'])
      expect(done.json).to.include({ email, group: 'partner' })
      expect(done.text).to.include('The group is now partner.').and.to.include('group partner')
      expect((await run('show', [email])).json).to.include({ group: 'partner' })
      const { text, json } = await run('list', [], { search: email })
      expect(text).to.include('partner')
      expect(json.accounts).to.have.nested.property('[0].group', 'partner')
      const none = await run('group', [publicId('account', id), 'none'])
      expect(none.json).not.to.have.property('group')
      expect(none.text).to.include('The account is in no group.')
      const actions = await listActions(db, { accountId: id }, 10)
      expect(actions.map(({ action, details }) => [action, details])).to.deep.equal([
        ['account_grouped', { group: null }],
        ['account_grouped', { group: 'partner' }],
      ])
    })

    it('refuses a group that the catalogue does not have, and accounts that are not there', async () => {
      const { email } = await anAccount(db)
      for (const group of ['nope', '', 'constructor', 'Partner']) {
        expect(await refusal('account group', [email, group])).to.equal(`The catalogue has no group "${group}".`)
      }
      expect(await refusal('account group', [email])).to.equal('The catalogue has no group "".')
      const nobody = publicId('account', '01a216d0-48ea-77be-a088-baf866c15229' as never)
      expect(await refusal('account group', [nobody, 'partner'])).to.equal(`There is no account with the id ${nobody}.`)
      expect(await listActions(db, { action: 'account_grouped' }, 10)).to.have.lengthOf(2)
    })

    it('makes room for keys with more requests a minute', async () => {
      const account = await anAccount(db)
      const set = () => refusal('key set', [publicId('key', account.keyId)], { rate: '600' })
      expect(await set()).to.equal('--rate must be at most that of the account, 60.')
      await run('group', [account.email, 'partner'])
      expect(await set()).to.equal('done')
      await run('group', [account.email, 'idle'])
      expect(await set()).to.equal('--rate must be at most that of the account, 60.')
    })
  })
})
