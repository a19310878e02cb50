import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { root } from '../../scripts/folders.ts'
import { verifyPassword } from '../../src/shared/identity/passwords.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { aGrant, anAccount } from '../../scripts/harness/factories.ts'
import { argumentsOf } from '../../scripts/harness/installation.ts'

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

  it('makes an account with a password that is typed, and prints JSON on request', async () => {
    const email = 'first@example.com'
    const made = await admin(['account', 'create', 'First@Example.com', '--json'], undefined, 'secret123\n')
    expect([made.code, made.err]).to.deep.equal([0, ''])
    expect(made.json).to.include({ email, status: 'active', credits: 0, emailVerified: false, displayName: '' })
    const fields = 'id email displayName avatarUrl language credits emailVerified createdAt status'
    expect(made.json).to.have.all.keys(fields.split(' '))
    const { password_hash: hash } = await db('users').where({ email }).first<{ password_hash: string }>()
    expect(await verifyPassword(hash, 'secret123')).to.equal(true)
  })

  it('refuses with one sentence on stderr and exit code 1, also a database that was never migrated', async () => {
    const url = await newDatabaseUrl()
    const own = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    await own.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    await own.destroy()
    const [nobody, empty] = await Promise.all([
      admin(['credits', 'grant', 'nobody@example.com', '5', '--json']),
      admin(['audit'], { DATABASE_URL: url }),
    ])
    expectRefused(nobody, /^There is no account with the address nobody@example\.com\.$/)
    expectRefused(empty, /^The database has not been migrated/)
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
      const told = await admin(['audit'], { DATABASE_URL: url })
      expect(told.code).to.equal(1)
      expect(told.err).to.match(/^The books are wrong: \d+ breach(es)?\.\n$/)
      expect(told.out).to.match(/BREACH: a balance is the sum of its account's entries: .*51/)
    } finally {
      await own.destroy()
    }
  })
})
