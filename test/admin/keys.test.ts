import { expect } from 'chai'
import { keyCommands } from '../../src/admin/commands/keys.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import type { ApiKey } from '../../src/shared/identity/shown-key.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import { connectTestDb, testDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'

describe("the operator's commands of keys", () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())

  const run = (verb: string, args: string[], options: Record<string, string> = {}) =>
    keyCommands.find(({ usage }) => usage.startsWith(`key ${verb}`))!.run(db, args, options)
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
    expect([lifted.models, lifted.budget, lifted.rateLimit, lifted.maxOutstanding]).to.deep.equal([null, null, null, 2])
    expect((await listActions(db, { accountId: account.id }, 5)).map(({ action }) => action)).to.deep.equal([
      'key_limited',
      'key_limited',
    ])
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
    for (const [verb, options, said] of FAULTS) {
      const fault = await run(verb, [id], options).then(
        () => 'nothing',
        (error: Error) => error.message,
      )
      expect(fault, JSON.stringify(options)).to.match(said)
    }
    for (const [verb, at] of [
      ['set', 'x'],
      ['rotate', 'key_1'],
      ['revoke', ''],
    ] as const) {
      const fault = await run(verb, [at]).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(fault).to.match(/is not the id of a key/)
    }
    expect(await listActions(db, { accountId: account.id }, 5)).to.deep.equal([])
  })
})
