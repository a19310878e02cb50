import bcrypt from '@node-rs/bcrypt'
import { expect } from 'chai'
import { accountCommands } from '../../../src/admin/commands/accounts.ts'
import { signInCommands } from '../../../src/admin/commands/sign-in.ts'
import { runImport } from '../../../src/shared/operators/import/report.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, anEmail, useConsole } from '../../support/console.ts'
import { commandsOver } from '../../support/commands.ts'
import { useOperator } from '../../support/console.ts'
import { aPlan, aPlannedUser, anImportedKey } from '../../shared/operators/import/plans.ts'

describe('an imported user', () => {
  const web = useConsole({ SIGNUP_CREDITS: '1000', SIGNUP_CREDITS_AT: 'verification' })
  const operator = useOperator(web)
  const { run, refusal } = commandsOver(web, [...accountCommands, ...signInCommands])
  const userOf = async (source: string) => {
    const origin = await web
      .db('import_origins')
      .where({ source, kind: 'user' })
      .first<{ account_id: AccountId; user_id: string }>()
    return { id: origin.account_id, user: await web.db('users').where({ id: origin.user_id }).first() }
  }
  const login = (email: string, password: string) => web.post('/api/auth/login', { email, password })

  it('logs in with the password that they had, which is then hashed as every other', async () => {
    const email = anEmail()
    const users = [
      aPlannedUser('1', { email, bcrypt: (await bcrypt.hash('Old p\u00e4ss', 10)).replace(/^\$2y/, () => '$2a') }),
    ]
    await runImport(web.db, { name: 'hashes', gateway: 'new-api' }, aPlan({ users }), true)
    expect((await login(email, 'Old pass')).json.error).to.equal('invalid_credentials')
    expect((await userOf('hashes')).user.password_hash).to.match(/^\$2a\$10/)
    const both = await Promise.all([login(email, 'Old p\u00e4ss'), login(email, 'Old p\u00e4ss')])
    expect(both.map(({ status }) => status)).to.deep.equal([200, 200])
    expect((await userOf('hashes')).user.password_hash).to.match(/^\$argon2id\$/)
    expect((await login(email, 'Old p\u00e4ss')).status).to.equal(200)
  })

  it('without an address claims the account by a link, once, and is asked to prove the address', async () => {
    const users = [aPlannedUser('77', { email: '', grantCredits: 50n })]
    const keys = [anImportedKey('77', `sk-claimed-${process.pid}`)]
    await runImport(web.db, { name: 'claims', gateway: 'litellm' }, aPlan({ users, keys }), true)
    const { id, user } = await userOf('claims')
    const account = publicId('account', id)
    const due = { source: 'claims', theirId: '77' }
    expect((await operator.ask('GET', `/api/operator/accounts/${account}`)).json.importedFrom).to.deep.equal(due)
    for (const command of ['login-link', 'account password-reset', 'account role'] as const) {
      expect(await refusal(command, [account, 'admin']), command).to.match(/^Nobody has claimed this account/)
    }
    const linkOf = async () => String((await run('account claim', [account])).json['link']).split('#token=')
    const [, first] = await linkOf()
    const [page, token] = await linkOf()
    expect(page).to.match(/\/claim$/)
    expect(JSON.stringify(await web.db('users').where({ id: user.id }))).not.to.include(token)

    const [taken, email] = [await aPerson(web), anEmail()]
    const claim = (fields: object = {}) => web.post('/api/auth/claim', { token, email, password: PASSWORD, ...fields })
    for (const [fields, code] of [
      [{ token: first }, 'invalid_token'],
      [{ token: '' }, 'invalid_token'],
      [{ email: 'nobody' }, 'invalid_email'],
      [{ password: 'short1' }, 'password_too_short'],
      [{ email: taken.email }, 'email_taken'],
    ] as const) {
      expect((await claim(fields)).json.error, code).to.equal(code)
    }
    await run('account suspend', [account])
    expect((await claim()).json.error).to.equal('account_suspended')
    await run('account activate', [account])
    const claims = await Promise.all([claim(), claim()])
    expect(claims.map(({ status }) => status)).to.have.members([200, 400])
    const { json } = claims.find(({ status }) => status === 200)!
    expect(json.user).to.include({ id: account, email, credits: 50, emailVerified: false })
    expect((await web.get('/api/keys', json.token as string)).json.data[0]).to.include({ revokedAt: null })
    expect(await web.db('mails').where({ recipient: email }).pluck('kind')).to.deep.equal(['verification'])
    expect((await login(email, PASSWORD)).status).to.equal(200)
    expect(await refusal('account claim', [account])).to.equal('The owner of this account has a login.')
  })

  it('is refused by a link that is too old', async () => {
    await runImport(
      web.db,
      { name: 'late', gateway: 'litellm' },
      aPlan({ users: [aPlannedUser('1', { email: '' })] }),
      true,
    )
    const { id, user } = await userOf('late')
    const [, token] = String((await run('account claim', [publicId('account', id)])).json['link']).split('#token=')
    await web.db('users').where({ id: user.id }).update({ claim_until: web.db.fn.now() })
    const late = await web.post('/api/auth/claim', { token, email: anEmail(), password: PASSWORD })
    expect(late.json.error).to.equal('invalid_token')
  })
})
