import { expect } from 'chai'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import { PASSWORD, aPerson, anEmail, logIn, testQueues } from '../../support/console.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useMailing } from './support/mailing.ts'

describe('a forgotten password', () => {
  const mailing = useMailing()
  const logInStatus = async (email: string, password: string): Promise<number> =>
    (await mailing.web.post('/api/auth/login', { email, password })).status

  describe('forgot', () => {
    it('answers every address alike, writes the same row, and mails only those with an account', async () => {
      const { email } = await aPerson(mailing.web)
      const nobody = anEmail()
      const [unknown, known] = [await mailing.forgot(nobody), await mailing.forgot(email.toUpperCase())]
      expect(known.status).to.equal(200)
      expect(known.json).to.have.all.keys('ok', 'message')
      expect(unknown.text).to.equal(known.text)
      expect([...unknown.headers.keys()].toSorted()).to.deep.equal([...known.headers.keys()].toSorted())
      await mailing.mailbox.of(email, 2)
      const row = await until('the mail to nobody is skipped', () =>
        mailing.web.db('mails').where({ recipient: nobody, status: 'skipped' }).first(),
      )
      const other = await mailing.web.db('mails').where({ recipient: email, kind: 'reset' }).first()
      expect(Object.keys(row)).to.deep.equal(Object.keys(other))
      expect([row.user_id, other.user_id]).to.deep.equal([null, null])
      expect(mailing.mailbox.received.filter(({ to }) => to.includes(nobody))).to.deep.equal([])
    })
  })

  describe('reset', () => {
    it('sets the new password and ends every session', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      const other = await logIn(mailing.web, person.email)
      const { status, json } = await mailing.reset(token, 'another horse 2')
      expect([status, json.ok, typeof json.message]).to.deep.equal([200, true, 'string'])
      expect([(await mailing.me(person.token)).status, (await mailing.me(other)).status]).to.deep.equal([401, 401])
      const passwords = [PASSWORD, 'another horse 2']
      const statuses = passwords.map((password) => logInStatus(person.email, password))
      expect(await Promise.all(statuses)).to.deep.equal([401, 200])
    })

    it('lets its owner log in from where they are, whatever others guess', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      const { id } = (await findUserByEmail(mailing.web.db, person.email))!
      const networks = () => mailing.web.db('login_networks').where({ user_id: id })
      await networks().delete()
      await mailing.reset(token, 'another horse 2')
      expect(await networks()).to.have.length(1)
    })

    it('says whose password its link resets, without spending it', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      const ask = async (link: string) => (await mailing.web.post('/api/email/reset/address', { token: link })).json
      expect(await ask(token)).to.deep.equal({ ok: true, email: person.email })
      expect((await mailing.reset(token, 'another horse 2')).status).to.equal(200)
      expect(await ask(token)).to.deep.equal({ ok: true, email: null })
    })

    it('works once, is checked before the password, and is not spent by a weak one', async () => {
      const { token, person } = await mailing.aForgetfulPerson()
      const [[least, most]] = (await mailing.livesOf(person.email, 'reset')) as [[number, number]]
      expect(30 * 60, 'as long as it lasts').to.be.within(least, most)
      for (const none of ['a'.repeat(43), 'x', undefined, 5])
        expect((await mailing.reset(none, 'weak')).json.error).to.equal('invalid_token')
      // Every rule is tested by test/shared/identity/passwords.test.ts.
      for (const weak of ['abcdef1', undefined])
        expect((await mailing.reset(token, weak)).json.error).to.equal('password_too_short')
      expect((await mailing.reset(token, 'abcdefg1')).status).to.equal(200)
      const { status, json } = await mailing.reset(token, 'another horse 3')
      expect([status, json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('accepts only the newest link', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      await mailing.forgot(person.email)
      const newest = await mailing.tokenOf(person, 3)
      expect((await mailing.reset(token, 'another horse 2')).json.error).to.equal('invalid_token')
      expect((await mailing.reset(newest, 'another horse 2')).status).to.equal(200)
    })

    it('does not accept a link that was requested before the password was changed', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      const change = { currentPassword: PASSWORD, password: 'another horse 2' }
      expect((await mailing.web.post('/api/auth/password', change, person.token)).status).to.equal(200)
      expect((await mailing.reset(token, 'another horse 3')).json.error).to.equal('invalid_token')
    })

    it('lets exactly one of 8 simultaneous requests with one token set its password', async () => {
      const { person, token } = await mailing.aForgetfulPerson()
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) => mailing.reset(token, `another horse ${index}`)),
      )
      const won = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      expect(won).to.have.length(1)
      expect(replies.filter(({ json }) => json.error === 'invalid_token')).to.have.length(7)
      expect(await logInStatus(person.email, `another horse ${won[0]}`)).to.equal(200)
    })
  })

  it('stores no token in plain text, neither in Postgres nor in Redis', async () => {
    const { token } = await mailing.aForgetfulPerson()
    for (const table of ['mails', 'one_time_tokens', 'users', 'sessions']) {
      expect(JSON.stringify(await mailing.web.db(table)), table).not.to.contain(token)
    }
    const { redis, stop } = testQueues(mailing.web.config)
    for (const key of await redis.keys('*')) {
      const kept = await redis.dumpBuffer(key)
      expect(kept?.includes(token) ?? false, key).to.equal(false)
    }
    await stop()
  })
})
