import { expect } from 'chai'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import { PASSWORD, aPerson, anEmail, logIn, testQueues } from '../../support/console.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useMailing } from './support/mailing.ts'
import type { Person } from '../../support/console.ts'
import type { ReceivedMail } from '../../../scripts/harness/mailbox.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { listSessions } from '../../../src/shared/identity/sessions.ts'

const NEXT = 'another horse 2'

describe('what a mailbox opens', () => {
  const mailing = useMailing()

  describe('a forgotten password', () => {
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

  describe('an address that somebody else registered before its owner', () => {
    const keyOf = async ({ token }: Person): Promise<string> =>
      (await mailing.web.post('/api/keys', { name: 'theirs' }, token)).json.secret as string
    const works = async (secret: string): Promise<boolean> =>
      (await mailing.web.get('/v1/models', secret)).status === 200
    const mailTo = (email: string, subject: RegExp): Promise<ReceivedMail> =>
      until(`a mail to ${email}`, () =>
        mailing.mailbox.received.find(({ to, mail }) => to.includes(email) && subject.test(mail.subject!)),
      )
    const access = (token: unknown) => mailing.web.post('/api/email/access', { token })
    const end = (token: unknown, password: unknown = NEXT) =>
      mailing.web.post('/api/email/access/end', { token, password })
    const resetOf = async ({ email }: Person): Promise<string> => {
      await mailing.forgot(email)
      return (await mailTo(email, /^Reset/)).token!
    }

    it('is theirs alone after a reset: keys and sessions made before it end', async () => {
      const other = await aPerson(mailing.web)
      const key = await keyOf(other)
      expect(await works(key)).to.equal(true)
      const { json } = await mailing.reset(await resetOf(other), NEXT)
      expect(json.message).to.contain('API keys of the account have ended')
      expect([await works(key), (await mailing.me(other.token)).status]).to.deep.equal([false, 401])
      expect(await works(await keyOf({ ...other, token: await logIn(mailing.web, other.email, NEXT) }))).to.equal(true)
    })

    it('keeps its keys at a reset where it had been verified', async () => {
      const person = await aPerson(mailing.web)
      await mailing.verify(await mailing.tokenOf(person))
      const key = await keyOf(person)
      await mailing.reset(await resetOf(person), NEXT)
      expect([await works(key), (await mailing.me(person.token)).status]).to.deep.equal([true, 401])
    })

    for (const [by, prove] of [
      ['verification', async (person: Person) => ({ link: await mailing.tokenOf(person), at: person.email })],
      [
        'change of address',
        async (person: Person) => {
          const next = anEmail()
          await mailing.web.post('/api/email/change', { email: next, password: PASSWORD }, person.token)
          return { link: (await mailTo(next, /^Confirm your new/)).token!, at: next }
        },
      ],
    ] as const) {
      const spend = (link: string) =>
        by === 'verification' ? mailing.verify(link) : mailing.web.post('/api/email/confirm', { token: link })

      it(`loses nothing by a ${by}; its mail says what can use the account, and ends it all, once`, async () => {
        const other = await aPerson(mailing.web)
        const keys = [await keyOf(other), await keyOf(other)]
        const second = await logIn(mailing.web, other.email)
        const { link, at } = await prove(other)
        expect((await spend(link)).json).to.have.all.keys('ok', 'user')
        expect([await works(keys[0]!), (await mailing.me(second)).status]).to.deep.equal([true, 200])

        const { mail, token } = await mailTo(at, /^What can use/)
        expect(mail.text).to.contain('2 API keys and 2 sessions can use this account')
        expect((await access(token)).json).to.deep.equal({ ok: true, email: at, keys: 2, sessions: 2 })
        // Who knows the password of now cannot keep the owner out by changing it.
        const changed = { currentPassword: PASSWORD, password: `${PASSWORD}9` }
        expect((await mailing.web.post('/api/auth/password', changed, other.token)).status).to.equal(200)
        expect((await end(token, 'weak')).json.error).to.equal('password_too_short')
        const replies = await Promise.all(Array.from({ length: 5 }, () => end(token)))
        expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 400, 400, 400, 400])
        for (const key of keys) expect(await works(key)).to.equal(false)
        for (const session of [other.token, second]) expect((await mailing.me(session)).status).to.equal(401)
        expect(await logIn(mailing.web, at, NEXT)).to.match(/^[\w-]{43}$/)
        for (const spent of [token, link]) expect((await access(spent)).json.error).to.equal('invalid_token')
      })

      it(`is closed to others by the page of the ${by} too, with the link just used, for an hour`, async () => {
        const other = await aPerson(mailing.web)
        const key = await keyOf(other)
        const { link, at } = await prove(other)
        expect((await access(link)).json.error, 'before it is spent').to.equal('invalid_token')
        await spend(link)
        expect((await access(link)).json).to.include({ keys: 1, sessions: 1 })
        const late = () =>
          mailing.web
            .db('one_time_tokens')
            .where({ email: at })
            .whereNotNull('spent_at')
            .update({ spent_at: mailing.web.db.raw(`spent_at - interval '61 minutes'`) })
        if (by === 'verification') {
          expect((await end(link)).status).to.equal(200)
          expect(await works(key)).to.equal(false)
          const mailed = await mailTo(at, /^What can use/)
          expect((await access(mailed.token)).json.error).to.equal('invalid_token')
        } else {
          await late()
          expect((await end(link)).json.error).to.equal('invalid_token')
          expect(await works(key)).to.equal(true)
        }
      })
    }

    it('is mailed what can use it only where something else can than the session of the proof', async () => {
      const mailsTo = ({ email }: Person) => mailing.web.db('mails').where({ recipient: email, kind: 'access' })
      for (const [isAnother, prepare] of [
        [false, async () => {}],
        [true, (person: Person) => keyOf(person)],
        [true, (person: Person) => logIn(mailing.web, person.email)],
      ] as const) {
        const person = await aPerson(mailing.web)
        await prepare(person)
        await mailing.web.post('/api/email/verify', { token: await mailing.tokenOf(person) }, person.token)
        expect(await mailsTo(person)).to.have.length(isAnother ? 1 : 0)
      }
    })

    it('gets nothing of it by a reset link, and not for another account', async () => {
      const other = await aPerson(mailing.web)
      for (const token of [await resetOf(other), await mailing.tokenOf(other), 'x'.repeat(43), 'x', null, 5])
        for (const reply of [await access(token), await end(token)])
          expect([reply.status, reply.json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('leaves no key that a session which has ended is just making', async () => {
      const person = await aPerson(mailing.web)
      const { db } = mailing.web
      const accountId = parseId('account', person.id)!
      const member = await db('members').where({ account_id: accountId }).first()
      const [session] = await listSessions(db, member.user_id, null)
      const sessionId = parseId('session', session!.id)!
      await db('sessions').where({ id: sessionId }).delete()
      const made = await createKey(db, accountId, 'late', {}, { userId: member.user_id, sessionId }).catch(
        (error: unknown) => error,
      )
      expect(made).to.include({ code: 'unauthorized' })
      expect(await db('api_keys').where({ account_id: accountId })).to.deep.equal([])
    })
  })
})
