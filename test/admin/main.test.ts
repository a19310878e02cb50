import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { root } from '../../scripts/folders.ts'
import { migrationSource } from '../../migrations/index.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import { verifyPassword } from '../../src/shared/identity/passwords.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import type { GrantId } from '../../src/shared/platform/ids.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { aGrant, anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { argumentsOf } from '../../scripts/harness/installation.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'

/** How a command ended. `json` if it printed any. */
// oxlint-disable-next-line typescript/no-explicit-any
type Ended = { code: number | null; out: string; err: string; json: any }

describe("the operator's command line", function () {
  let db: Db
  let databaseUrl: string
  before(async () => {
    databaseUrl = await newDatabaseUrl()
    db = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 4 })
  })
  after(() => db.destroy())

  async function admin(
    args: string[],
    environment: NodeJS.ProcessEnv = { DATABASE_URL: databaseUrl },
    typed = '',
  ): Promise<Ended> {
    const child = spawn(process.execPath, [...argumentsOf('admin'), ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...environment },
    })
    child.stdin.end(typed)
    const code = new Promise<number | null>((resolve) => {
      child.once('close', resolve)
    })
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    let json: unknown
    try {
      json = JSON.parse(out)
    } catch {
      json = undefined
    }
    return { code: await code, out, err, json }
  }

  /** Expects one sentence on stderr, nothing on stdout and exit code 1. */
  function expectRefused({ code, out, err }: Ended, sentence: RegExp): void {
    expect([code, out], err).to.deep.equal([1, ''])
    expect(err.trim()).to.match(sentence)
    expect(err.trim().split('\n')).to.have.lengthOf(1)
  }

  it('ends quietly when its reader has read enough', async () => {
    await anAccount(db)
    const child = spawn(process.execPath, [...argumentsOf('admin'), 'account', 'list', '--json'], {
      cwd: root,
      env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
    })
    // As by `| head`, which closes the pipe.
    child.stdout.destroy()
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number | null]>])
    expect([code, err]).to.deep.equal([0, ''])
  })

  it('makes an account, shows it, suspends and activates it, and prints JSON on request', async () => {
    const email = 'first@example.com'
    const made = await admin(['account', 'create', 'First@Example.com', '--json'], undefined, 'secret123\n')
    expect([made.code, made.err]).to.deep.equal([0, ''])
    expect(made.json).to.include({
      email,
      status: 'active',
      credits: 0,
      emailVerified: false,
      displayName: '',
      avatarUrl: '',
    })
    expect(made.json).to.have.all.keys(
      'id',
      'email',
      'displayName',
      'avatarUrl',
      'credits',
      'emailVerified',
      'createdAt',
      'status',
    )
    const { password_hash: hash } = await db('users').where({ email }).first<{ password_hash: string }>()
    expect(await verifyPassword(hash, 'secret123')).to.equal(true)
    const suspended = await admin(['account', 'suspend', email, '--json'])
    expect(suspended.json).to.include({ email, status: 'suspended' })
    const [shown, active] = [
      await admin(['account', 'show', email]),
      await admin(['account', 'activate', email, '--json']),
    ]
    expect(shown.out).to.match(/first@example\.com: suspended, 0 credits/)
    expect(active.json).to.include({ status: 'active' })
  })

  it('grants credits of an origin, with an expiry and a note, and prints the new balance', async () => {
    const { id, email } = await anAccount(db, 10)
    const given = await admin([
      'credits',
      'grant',
      email,
      '500',
      '--origin',
      'bonus',
      '--expires',
      '2090-01-31T00:00:00Z',
      '--note',
      'for the trouble',
      '--json',
    ])
    expect(given.code, given.err).to.equal(0)
    expect(given.json).to.have.all.keys('grantId', 'credits')
    expect(given.json.credits).to.equal(510)
    expect(
      await db('grants')
        .where({ id: parseId('grant', given.json.grantId) as GrantId })
        .first(),
    ).to.deep.include({
      account_id: id,
      origin: 'bonus',
      amount: 500,
      remaining: 500,
      note: 'for the trouble',
      expires_at: new Date('2090-01-31T00:00:00Z'),
    })
    expect(await balanceOf(db, id)).to.equal(510)
    expect((await admin(['credits', 'grant', email.toUpperCase(), '1'])).out).to.match(/511/)
  })

  it('makes a key that works, and prints its secret only this once', async () => {
    const { id, email } = await anAccount(db)
    const [plain, json] = await Promise.all([
      admin(['key', 'create', email]),
      admin(['key', 'create', email, 'for the shop', '--json']),
    ])
    expect(json.json).to.have.all.keys('id', 'secret')
    for (const secret of [plain.out.trim(), json.json.secret as string])
      expect((await createKeyLookup(db).find(secret, ''))?.accountId).to.equal(id)
    expect(
      await db('api_keys')
        .where({ id: parseId('key', json.json.id) })
        .first('name'),
    ).to.deep.equal({ name: 'for the shop' })
  })

  it('shows a call with its movements', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 30 }])
    const calls = verbs(db)
    const id = await opened(calls, account, 40)
    await calls.settle(id, 'image', aResult(35))
    const { code, json } = await admin(['call', 'show', publicId('call', id), '--json'])
    expect(code).to.equal(0)
    expect(json.call).to.include({ id: publicId('call', id), status: 'succeeded', credits: 35, creditsPrecharged: 40 })
    expect(json.ledger.map((entry: { kind: string; amount: number }) => `${entry.kind} ${entry.amount}`)).to.deep.equal(
      ['charge -30', 'charge -10', 'settlement 5'],
    )
  })

  it('refuses with one sentence on stderr and exit code 1', async () => {
    const refusals: [string[], RegExp][] = [
      [
        ['credits', 'grant', 'nobody@example.com', '5', '--json'],
        /^There is no account with the address nobody@example\.com\.$/,
      ],
      [['nonsense'], /Unknown command "nonsense"/],
      [[], /^No command was given\. Try --help\.$/],
      [['account', 'create', 'weak@example.com', 'short1'], /^The password must be at least 8 characters long\.$/],
      [['audit', '--note', 'x'], /does not take the option --note/],
      [['audit', '--nonsense'], /--nonsense/],
      [['account', 'show', 'a@example.com', 'b@example.com'], /^"b@example\.com" is one argument too many/],
    ]
    const ends = await Promise.all(refusals.map(([args]) => admin(args)))
    refusals.forEach(([, sentence], at) => expectRefused(ends[at]!, sentence))
  })

  it('audits the books: counts, no breach and exit code 0; each breach and exit code 1', async () => {
    // A database of its own, so that those of the other commands stay right.
    const url = await newDatabaseUrl()
    const own = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    try {
      const account = await anAccount(own)
      await aGrant(own, account.id, { amount: 50 })
      const right = await admin(['audit', '--json'], { DATABASE_URL: url })
      expect([right.code, right.json.breaches]).to.deep.equal([0, []])
      expect(right.json.checked).to.include({ accounts: 1, grants: 1, ledger_entries: 1, calls: 0 })
      await own('accounts').where({ id: account.id }).update({ credits: 51 })
      const [wrong, told] = await Promise.all([
        admin(['audit', '--json'], { DATABASE_URL: url }),
        admin(['audit'], { DATABASE_URL: url }),
      ])
      expect([wrong.code, told.code]).to.deep.equal([1, 1])
      for (const { err } of [wrong, told]) expect(err).to.match(/^The books are wrong: \d+ breach(es)?\.\n$/)
      expect(wrong.json.breaches.map((breach: { invariant: string }) => breach.invariant)).to.include(
        "a balance is the sum of its account's entries",
      )
      expect(told.out).to.match(/BREACH: a balance is the sum of its account's entries: .*51/)
    } finally {
      await own.destroy()
    }
  })

  it('refuses a database that was never migrated', async () => {
    const url = await newDatabaseUrl()
    const own = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    for (const _ of await migrationSource.getMigrations([])) await own.migrate.down({ migrationSource })
    await own.destroy()
    expectRefused(await admin(['audit'], { DATABASE_URL: url }), /^The database has not been migrated/)
  })

  it('prints its usage', async () => {
    const asked = await admin(['--help'])
    expect([asked.code, asked.err]).to.deep.equal([0, ''])
    for (const command of [
      'credits grant',
      'account create',
      'account show',
      'account suspend',
      'account activate',
      'key create',
      'call show',
      'audit',
    ]) {
      expect(asked.out).to.include(command)
    }
  })

  it('needs only Postgres, and says so if it is missing or away, without its password', async () => {
    const [missing, away] = await Promise.all([
      admin(['audit'], {}),
      admin(['audit'], { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:9/x' }),
    ])
    expect(missing.code).to.equal(78)
    expect(missing.err).to.match(/DATABASE_URL/)
    expect(away.code).to.equal(1)
    expect(`${away.out}${away.err}`).not.to.include('hunter2')
  })
})
