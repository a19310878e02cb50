import { expect } from 'chai'
import { accountCommands } from '../../src/admin/commands/accounts.ts'
import { keyCommands } from '../../src/admin/commands/keys.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { connectTestDb, testDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'

describe('account set', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  const run = (verb: string, email: string, options: Record<string, string> = {}) =>
    accountCommands.find(({ usage }) => usage.startsWith(`account ${verb} `))!.run(db, [email], options)
  const setKey = (id: string, options: Record<string, string>) =>
    keyCommands.find(({ usage }) => usage.startsWith('key set'))!.run(db, [id], options)

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
    expect((await listActions(db, { accountId: id }, 5)).map(({ action, details }) => [action, details])).to.deep.equal(
      [
        ['account_limited', { rateLimit: null, tokensPerMinute: null }],
        ['account_limited', { rateLimit: 600, maxOutstanding: 20, tokensPerMinute: 90_000 }],
      ],
    )
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
      const fault = await run('set', email, options).then(
        () => 'nothing',
        (error: Error) => error.message,
      )
      expect(fault).to.match(said)
    }
    expect(await listActions(db, { accountId: id }, 5)).to.deep.equal([])
  })

  it('bounds the rate limit of its keys, which have tokens a minute of their own', async () => {
    const { email, keyId } = await anAccount(db)
    const id = publicId('key', keyId)
    await run('set', email, { rate: '300' })
    const { json, text } = await setKey(id, { rate: '300', 'tokens-per-minute': '7000' })
    expect(json.key).to.include({ rateLimit: 300, tokensPerMinute: 7000 })
    expect(text).to.match(/rate 300 .*tokens a minute 7000/)
    const refused = await setKey(id, { rate: '301' }).then(
      () => 'nothing',
      (error: Error) => error.message,
    )
    expect(refused).to.equal('--rate must be at most that of the account, 300.')
    expect((await setKey(id, { 'tokens-per-minute': 'none' })).json.key).to.include({ tokensPerMinute: null })
  })
})
