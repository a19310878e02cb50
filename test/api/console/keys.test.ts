import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { DescribedWeb } from './support/records.ts'
import { startDescribed } from './support/records.ts'

describe('/api/keys', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())

  it('makes a key that works at once, and shows its secret only this once', async () => {
    const { api } = await web.signedIn()
    const answer = await api('POST', '/api/keys', { name: 'laptop' })
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    const made = answer.json
    expect(made.key).to.include({ name: 'laptop', lastUsedAt: null, revokedAt: null })
    expect(made.key.hint).to.equal(`${made.secret.slice(0, 7)}…${made.secret.slice(-4)}`)
    expect((await get(`${web.url}/v1/models`, made.secret)).status).to.equal(200)
    const list = await api('GET', '/api/keys')
    expect(list.json.data.map((key: { id: string }) => key.id)).to.include(made.key.id)
    expect(list.text).not.to.contain(made.secret)
  })

  it('lists keys newest first, with when they were used and revoked', async () => {
    const { account, api } = await web.signedIn(100)
    const made = (await api('POST', '/api/keys', { name: 'second' })).json
    await post(
      `${web.url}/v1/images/generations`,
      made.secret,
      { model: 'sandbox-image', prompt: 'a fox' },
      { prefer: 'respond-async' },
    )
    await api('DELETE', `/api/keys/${publicId('key', account.keyId)}`)
    const [second, first] = (await api('GET', '/api/keys')).json.data
    expect([second.name, second.revokedAt]).to.deep.equal(['second', null])
    expect(Date.parse(second.lastUsedAt)).to.be.greaterThan(Date.now() - 60_000)
    expect([first.id, first.lastUsedAt]).to.deep.equal([publicId('key', account.keyId), null])
    expect(Date.parse(first.revokedAt)).to.be.greaterThan(Date.now() - 60_000)
  })

  it('ends a key on every process at once', async () => {
    const other = await startTestWeb()
    const { account, api } = await web.signedIn(1000)
    expect((await get(`${other.url}/v1/models`, account.key)).status).to.equal(200)
    await api('DELETE', `/api/keys/${publicId('key', account.keyId)}`)
    for (const url of [web.url, other.url]) {
      expect((await get(`${url}/v1/models`, account.key)).status).to.equal(401)
      const call = await post(
        `${url}/v1/images/generations`,
        account.key,
        { model: 'sandbox-image', prompt: 'a fox' },
        { prefer: 'respond-async' },
      )
      expect([call.status, call.json.error.type]).to.deep.equal([401, 'unauthorized'])
    }
    await other.stop()
  })

  it('accepts a second revocation, and keeps the time of the first', async () => {
    const { account, api } = await web.signedIn()
    const path = `/api/keys/${publicId('key', account.keyId)}`
    const when = async () => (await api('GET', '/api/keys')).json.data[0].revokedAt
    expect((await api('DELETE', path)).json).to.deep.equal({ ok: true })
    const first = await when()
    const replies = await Promise.all([api('DELETE', path), api('DELETE', path)])
    expect(replies.map((reply) => reply.status)).to.deep.equal([200, 200])
    expect(await when()).to.equal(first)
  })

  it('gives no access to the keys of another account', async () => {
    const [mine, theirs] = [await web.signedIn(), await web.signedIn()]
    const foreign = await mine.api('DELETE', `/api/keys/${publicId('key', theirs.account.keyId)}`)
    const unknown = await mine.api('DELETE', `/api/keys/${publicId('key', newId('key'))}`)
    expect([foreign.status, foreign.text]).to.deep.equal([404, unknown.text])
    expect((await get(`${web.url}/v1/models`, theirs.account.key)).status).to.equal(200)
    const ids = (await mine.api('GET', '/api/keys')).json.data.map((key: { id: string }) => key.id)
    expect(ids).to.deep.equal([publicId('key', mine.account.keyId)])
  })

  it('answers 404 for what is not a key id', async () => {
    const { account, api } = await web.signedIn()
    for (const id of [
      'x',
      '%00',
      'key_',
      `call_${account.keyId.replaceAll('-', '')}`,
      account.keyId,
      `key_${'f'.repeat(31)}`,
      `key_${'F'.repeat(32)}`,
      "key_'; DROP TABLE api_keys; --",
      'x'.repeat(5000),
    ]) {
      expect((await api('DELETE', `/api/keys/${encodeURIComponent(id)}`)).status, id).to.equal(404)
    }
  })

  it('accepts names of 1 to 60 code points, as they are typed', async () => {
    const { api } = await web.signedIn()
    for (const name of ['x', ' two words ', '😀'.repeat(60), 'é́', '👩‍🚀', '<b>', "'; --", 'مفتاح']) {
      const made = await api('POST', '/api/keys', { name })
      expect([made.status, made.json.key?.name], name).to.deep.equal([200, name])
    }
  })

  it('refuses any other name, and names the field', async () => {
    const { api } = await web.signedIn()
    for (const name of [
      undefined,
      null,
      5,
      true,
      {},
      ['x'],
      '',
      '   ',
      'x'.repeat(61),
      '😀'.repeat(61),
      'a\0b',
      'a\nb',
      '\ud800',
      'a\u202eb',
      'a\u200bb',
    ]) {
      const refused = await api('POST', '/api/keys', { name })
      expect([refused.status, refused.json.error], JSON.stringify(name)).to.deep.equal([400, 'invalid_request'])
      expect(refused.json.message).to.match(/^name /)
    }
  })

  it('needs a session: neither an API key nor a foreign token will do', async () => {
    const { account } = await web.signedIn()
    for (const token of [undefined, account.key, randomBytes(32).toString('base64url')]) {
      const refused = await get(`${web.url}/api/keys`, token)
      expect([refused.status, refused.json.error]).to.deep.equal([401, 'unauthorized'])
    }
  })

  describe('the number of keys', () => {
    /** Adds keys to an account, valid or revoked, made so many hours ago. */
    async function addKeys(
      { id: accountId, userId }: TestAccount,
      count: number,
      revoked: boolean,
      hours = 0,
    ): Promise<void> {
      await web.db('api_keys').insert(
        Array.from({ length: count }, () => ({
          id: newId('key'),
          account_id: accountId,
          user_id: userId,
          name: 'one of many',
          key_hash: randomBytes(32),
          hint: 'x',
          created_at: web.db.raw('now() - make_interval(hours => ?)', [hours]),
          revoked_at: revoked ? new Date() : null,
        })),
      )
    }

    it('is at most 100 that are not revoked, however many are requested at once', async () => {
      const { account, api } = await web.signedIn()
      await addKeys(account, 89, false)
      const made = await Promise.all(Array.from({ length: 200 }, () => api('POST', '/api/keys', { name: 'x' })))
      const refused = made.filter(({ status }) => status !== 200)
      expect(made.length - refused.length).to.equal(10)
      expect(new Set(refused.map(({ status, json }) => `${status} ${json.error}`))).to.deep.equal(
        new Set(['409 too_many_keys']),
      )
      expect((await api('GET', '/api/keys')).json.data).to.have.length(100)
      await api('DELETE', `/api/keys/${publicId('key', account.keyId)}`)
      expect((await api('POST', '/api/keys', { name: 'again' })).status).to.equal(200)
      expect((await api('POST', '/api/keys', { name: 'again' })).status).to.equal(409)
    })

    it('is at most 1000 made in a day, however many are requested at once', async () => {
      const { account, api } = await web.signedIn()
      await web
        .db('api_keys')
        .where({ id: account.keyId })
        .update({ created_at: web.db.raw("now() - interval '2 days'") })
      await addKeys(account, 500, true, 25)
      await addKeys(account, 980, true, 23)
      const made = await Promise.all(Array.from({ length: 40 }, () => api('POST', '/api/keys', { name: 'x' })))
      expect(made.filter(({ status }) => status === 200)).to.have.length(20)
      const refused = made.find(({ status }) => status !== 200)!
      expect([refused.status, refused.json.error]).to.deep.equal([429, 'rate_limited'])
      expect(Number(refused.headers.get('retry-after'))).to.be.within(3500, 3600)
    })

    it('limits the list of the revoked ones, but not that of the valid ones', async () => {
      const { account, api } = await web.signedIn()
      await addKeys(account, 1200, true, 48)
      const { data } = (await api('GET', '/api/keys')).json
      expect(data).to.have.length(1001)
      expect(data.map(({ id }: { id: string }) => id)).to.include(publicId('key', account.keyId))
    })
  })
})
