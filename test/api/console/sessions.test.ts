import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { ownerOf } from '../../../src/shared/identity/members.ts'
import { NO_PASSWORD } from '../../../src/shared/identity/passwords.ts'
import { endSessions, deleteExpiredSessions, openSession } from '../../../src/shared/identity/sessions.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, aUser, aVisitor, logIn, useConsole } from '../../support/console.ts'
import { send } from '../../../scripts/harness/http.ts'
import { untilItWaits } from '../../support/lock-waits.ts'

const idOf = (publicText: string): AccountId => parseId('account', publicText)!
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

describe('sessions', () => {
  const web = useConsole({ TRUST_PROXY: '1' })

  const me = async (token: string): Promise<number> => (await web.get('/api/auth/me', token)).status
  const move = (token: string, column: string, by: string) =>
    web
      .db('sessions')
      .where({ token_hash: hashOf(token) })
      .update({ [column]: web.db.raw('?? + ?::interval', [column, by]) })

  it('open with 32 random bytes, of which only the SHA-256 is kept, for 7 days of the clock of Postgres', async () => {
    const { token } = await aVisitor(web)
    expect(Buffer.from(token, 'base64url')).to.have.length(32)
    const lasting = web.db.raw("expires_at - created_at = interval '7 days' AS week")
    const [row] = await web
      .db('sessions')
      .where({ token_hash: hashOf(token) })
      .select('*', lasting)
    expect(JSON.stringify(row)).not.to.contain(token)
    expect(row.week).to.equal(true)
    await move(token, 'expires_at', '-7 days +1 minute')
    expect(await me(token)).to.equal(200)
    await move(token, 'expires_at', '-1 minute')
    expect(await me(token)).to.equal(401)
  })

  it('are refused without a token, with a malformed or unknown one, and with an API key', async () => {
    const { token } = await aVisitor(web)
    const texts = ['', 'Bearer', 'Bearer ', `Basic ${token}`, `Bearer ${token} ${token}`, token, 'Bearer \u00e9']
    const tokens = [`${token}x`, token.slice(1), 'a'.repeat(43), `tg_${'a'.repeat(40)}`, 'a'.repeat(8000), '../../etc']
    for (const authorization of [...texts, ...tokens.map((one) => `Bearer ${one}`)]) {
      const { status, json, headers } = await send('GET', `${web.url}/api/auth/me`, { headers: { authorization } })
      expect([status, json.error], authorization.slice(0, 60)).to.deep.equal([401, 'unauthorized'])
      expect(headers.get('www-authenticate')).to.equal('Bearer')
      expect(headers.get('cache-control')).to.equal('no-store')
    }
    const headers = { authorization: `bEaReR ${token}` }
    expect((await send('GET', `${web.url}/api/auth/me`, { headers })).status).to.equal(200)
  })

  it('end one by one by logout, and a second logout is unauthorized', async () => {
    const { email, token } = await aUser(web)
    const other = await logIn(web, email)
    const bodies = [undefined, {}]
    expect((await web.post('/api/auth/logout', bodies[0], token)).json).to.deep.equal({ ok: true })
    expect((await web.post('/api/auth/logout', bodies[1], token)).status).to.equal(401)
    expect([await me(token), await me(other)]).to.deep.equal([401, 200])
  })

  it('are listed newest first, with what is known of their clients', async () => {
    const { email, token } = await aPerson(web)
    const second = (
      await web.post('/api/auth/login', { email, password: PASSWORD }, undefined, {
        'user-agent': `Reader/1.0 ${'x'.repeat(400)}`,
        'x-forwarded-for': '9.9.9.9, 2001:DB8:0:0::1',
      })
    ).json.token as string
    const { json } = await web.get('/api/auth/sessions', token)
    expect(json.data).to.have.length(2)
    expect(json.data[0]).to.have.all.keys('id', 'createdAt', 'lastSeenAt', 'userAgent', 'ip', 'current')
    expect(json.data[0]).to.include({ userAgent: `Reader/1.0 ${'x'.repeat(189)}`, ip: '2001:db8::1', current: false })
    expect(json.data[1]).to.include({ ip: '127.0.0.1', current: true })
    expect(json.data[0].createdAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect((await web.get('/api/auth/sessions', second)).json.data[0].current).to.equal(true)
  })

  it('are revoked one by one, and only by their owner', async () => {
    const { email, token } = await aUser(web)
    const stranger = await aVisitor(web)
    const other = await logIn(web, email)
    const [{ id }] = (await web.get('/api/auth/sessions', token)).json.data
    const revoke = (session: string, by: string) =>
      send('DELETE', `${web.url}/api/auth/sessions/${session}`, { key: by })
    expect((await revoke(id, stranger.token)).json.error).to.equal('not_found')
    for (const unknown of ['ses_1', 'x', encodeURIComponent("' OR 1=1"), id.replace('ses', 'acc'), `${id}0`]) {
      expect((await revoke(unknown, token)).status, unknown).to.equal(404)
    }
    expect(await me(other)).to.equal(200)
    expect((await revoke(id, token)).json).to.deep.equal({ ok: true })
    expect((await revoke(id, token)).status).to.equal(404)
    expect([await me(token), await me(other)]).to.deep.equal([200, 401])
  })

  it('record their last use at most once a minute', async () => {
    const { token } = await aVisitor(web)
    const seen = async (): Promise<string> => (await web.get('/api/auth/sessions', token)).json.data[0].lastSeenAt
    const first = await seen()
    expect(await seen()).to.equal(first)
    await move(token, 'last_seen_at', '-61 seconds')
    expect(new Date(await seen()).getTime()).to.be.at.least(new Date(first).getTime())
  })

  it('of a suspended account are refused at once, and do not come back with it', async () => {
    const { token, id, email } = await aUser(web)
    const account = web.db('accounts').where({ id: idOf(id) })
    await account.clone().update({ status: 'suspended' })
    expect(await me(token), 'even if their row still exists').to.equal(401)
    await account.update({ status: 'active' })
    expect(await me(token)).to.equal(200)
    await setAccountStatus(web.db, null, idOf(id), 'suspended')
    await setAccountStatus(web.db, null, idOf(id), 'active')
    expect(await me(token)).to.equal(401)
    expect(await me(await logIn(web, email))).to.equal(200)
  })

  /** What a login of a visitor opens. */
  const aLogin = async () => {
    const accountId = idOf((await aVisitor(web)).id)
    const userId = (await ownerOf(web.db, accountId))!
    return { userId, opening: { userId, accountId, passwordHash: NO_PASSWORD, userAgent: '', ip: '' } }
  }

  it('do not survive as that of a login with the old password that ran during a change', async () => {
    const { userId, opening } = await aLogin()
    const change = await web.db.transaction()
    await change('users').where({ id: userId }).update({ password_hash: 'changed' })
    const opened = openSession(web.db, opening)
    await untilItWaits(web.db, '%INSERT INTO sessions%')
    await endSessions(change, userId)
    await change.commit()
    expect(await opened).to.equal(null)
    expect(await web.db('sessions').where({ user_id: userId })).to.deep.equal([])
  })

  it('are not opened by a login with a password alone that ran while a second factor was added', async () => {
    const { userId, opening } = await aLogin()
    const adding = await web.db.transaction()
    await adding('users').where({ id: userId }).update({ has_second_factor: true })
    const opened = openSession(web.db, opening)
    await untilItWaits(web.db, '%INSERT INTO sessions%')
    await adding.commit()
    expect(await opened).to.equal(null)
    expect(await openSession(web.db, { ...opening, hasPassedSecondFactor: true })).not.to.equal(null)
  })

  it('are all ended by a change that waits for a running login', async () => {
    const { userId, opening } = await aLogin()
    const login = await web.db.transaction()
    expect(await openSession(login, opening)).not.to.equal(null)
    const changing = web.db.transaction(async (trx) => {
      await trx('users').where({ id: userId }).update({ password_hash: 'changed' })
      await endSessions(trx, userId)
    })
    await untilItWaits(web.db, 'update "users"%')
    await login.commit()
    await changing
    expect(await web.db('sessions').where({ user_id: userId })).to.deep.equal([])
  })

  it('are deleted once they have expired', async () => {
    const { token } = await aVisitor(web)
    const { token: live } = await aVisitor(web)
    await move(token, 'expires_at', '-8 days')
    expect(await deleteExpiredSessions(web.db)).to.be.at.least(1)
    expect(await web.db('sessions').where({ token_hash: hashOf(token) })).to.deep.equal([])
    expect(await me(live)).to.equal(200)
  })
})
