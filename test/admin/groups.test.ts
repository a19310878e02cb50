import { expect } from 'chai'
import { accountCommands } from '../../src/admin/commands/accounts.ts'
import { keyCommands } from '../../src/admin/commands/keys.ts'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'

describe("the operator's command of groups", () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    const content = { ...sandboxCatalogue('http://127.0.0.1:9'), groups: { partner: { rateLimit: 600 }, idle: {} } }
    await applyCatalogue(db, { content, source: 'command', operator: null, note: null, expect: null })
  })
  after(() => db.destroy())

  const run = (verb: string, args: string[], options: Record<string, string> = {}) =>
    accountCommands.find(({ usage }) => usage.startsWith(`account ${verb}`))!.run(db, args, options)
  const refused = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    )

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
      expect(await refused(run('group', [email, group]))).to.equal(`The catalogue has no group "${group}".`)
    }
    expect(await refused(run('group', [email]))).to.equal('The catalogue has no group "".')
    const nobody = publicId('account', '01a216d0-48ea-77be-a088-baf866c15229' as never)
    expect(await refused(run('group', [nobody, 'partner']))).to.equal(`There is no account with the id ${nobody}.`)
    expect(await listActions(db, { action: 'account_grouped' }, 10)).to.have.lengthOf(2)
  })

  it('makes room for keys with more requests a minute', async () => {
    const account = await anAccount(db)
    const set = () => refused(keyCommands[2]!.run(db, [publicId('key', account.keyId)], { rate: '600' }))
    expect(await set()).to.equal('--rate must be at most that of the account, 60.')
    await run('group', [account.email, 'partner'])
    expect(await set()).to.equal('done')
    await run('group', [account.email, 'idle'])
    expect(await set()).to.equal('--rate must be at most that of the account, 60.')
  })
})
