import { expect } from 'chai'
import type { Options, Report } from '../../src/admin/command.ts'
import { COMMANDS } from '../../src/admin/commands.ts'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { anAccount, anOrganisation } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { useBooks } from '../support/database.ts'

/** `args` come after the account. `records`: the actions that it leaves; none for one that only shows. */
type Row = { args?: string[]; options?: Options; records?: string[]; says?: object }

/** Every command that takes an account, in an order in which one account can go through all of them. */
const ROWS: Record<string, Row> = {
  'account show': { says: { credits: 100 } },
  'account password-reset': { records: ['password_reset_sent'] },
  'account set': { options: { rate: '7' }, records: ['account_limited'], says: { limits: limitsOf(7) } },
  'account suspend': { records: ['account_suspended'], says: { status: 'suspended' } },
  'account activate': { records: ['account_activated'], says: { status: 'active' } },
  'account group': { args: ['partner'], records: ['account_grouped'], says: { group: 'partner' } },
  'account role': { args: ['admin'], records: ['role_changed'], says: { role: 'admin' } },
  'account export': { records: ['account_exported'] },
  'second-factor reset': { records: ['second_factor_reset'] },
  'login-link': { records: ['login_link_made'] },
  'session list': { says: { sessions: [] } },
  'session revoke': { args: ['all'], records: ['sessions_revoked'], says: { revoked: 'all' } },
  'credits grant': { args: ['20'], records: ['credits_granted'], says: { credits: 120 } },
  'credits deduct': {
    args: ['130'],
    options: { note: 'a test', debt: 'yes' },
    records: ['credits_deducted'],
    says: { taken: 120, owed: 10 },
  },
  'debt forgive': { records: ['debt_forgiven'], says: { forgiven: 10 } },
  'key create': { args: ['by the operator'] },
  'key list': {},
  'account delete': { options: { force: 'yes' }, records: ['account_deleted'], says: { deleted: true } },
}

function limitsOf(rateLimit: number) {
  return { rateLimit, maxOutstanding: null, tokensPerMinute: null }
}

describe('the commands that take an address', () => {
  const db = useBooks({ isOwn: true })
  before(async () => {
    const content = { ...sandboxCatalogue('http://127.0.0.1:9'), groups: { partner: {} } }
    await applyCatalogue(db, { content, source: 'command', operator: null, note: null, expect: null })
  })

  const run = async (name: string, named: string, { args = [], options = {} }: Row = ROWS[name]!) => {
    const command = COMMANDS.find(({ usage }) => usage.startsWith(`${name} <email>`))!
    return (await command.run(db, [named, ...args], options)) as Report
  }
  const actionsOf = async (accountId: AccountId): Promise<string[]> =>
    (await listActions(db, { accountId }, 50)).map(({ action }) => action).toReversed()

  /** Runs every command on an account by its id. */
  async function runAll({ id, keyId }: TestAccount): Promise<void> {
    const account = publicId('account', id)
    for (const [name, row] of Object.entries(ROWS)) {
      const before = await actionsOf(id)
      const { json, lines } = await run(name, account)
      expect(json, name).to.deep.include(row.says ?? {})
      expect((await actionsOf(id)).slice(before.length), name).to.deep.equal(row.records ?? [])
      if (name.startsWith('account ') && name !== 'account password-reset' && name !== 'account export') {
        expect(json, name).to.include({ id: account })
      }
      if (lines) expect((await lines[Symbol.asyncIterator]().next()).value).to.include({ type: 'account', id: account })
      if (name === 'key create') expect(await db('api_keys').where({ account_id: id })).to.have.lengthOf(2)
      if (name === 'key list') expect(JSON.stringify(json)).to.include(publicId('key', keyId))
    }
  }

  it('are these', () => {
    const taking = COMMANDS.flatMap(({ usage }) => /^(.+) <email>/.exec(usage)?.[1] ?? [])
    // It makes the account.
    expect(taking.filter((name) => name !== 'account create')).to.have.members(Object.keys(ROWS))
  })

  it('take the id of a person’s account, too', async () => runAll(await anAccount(db, 100)))

  it('take the id of an organisation, and leave its owner’s own account alone', async () => {
    const organisation = await anOrganisation(db, 100)
    const { account_id: own } = await db('members')
      .where({ user_id: organisation.userId, account_kind: 'personal' })
      .first<{ account_id: AccountId }>()
    await runAll(organisation)
    expect(await actionsOf(own)).to.deep.equal([])
    const show = (await run('account show', publicId('account', own))).json
    expect(show).to.include({ status: 'active', credits: 0 }).and.not.to.have.any.keys('group', 'kind', 'name')
    expect(await db('api_keys').where({ account_id: own, revoked_at: null })).to.have.lengthOf(1)
  })

  it('show an organisation, and list it, with its kind and name', async () => {
    const { id } = await anOrganisation(db)
    const account = publicId('account', id)
    const is = { id: account, kind: 'organisation', name: 'Engines' }
    expect((await run('account show', account)).json).to.include(is)
    const list = COMMANDS.find(({ usage }) => usage.startsWith('account list'))!
    const { json, text } = (await list.run(db, [], { search: account })) as Report<{ accounts: object[] }>
    expect(json.accounts).to.have.lengthOf(1)
    expect(json.accounts[0]).to.include(is)
    expect(text).to.match(/  organisation  active .*  Engines$/)
  })

  it('say that there is no account of an id', async () => {
    const nobody = publicId('account', '01a216d0-48ea-77be-a088-baf866c15229' as never)
    for (const name of Object.keys(ROWS)) {
      const said = await run(name, nobody).then(
        () => 'done',
        (error: Error) => error.message,
      )
      expect(said, name).to.equal(`There is no account with the id ${nobody}.`)
    }
  })
})
