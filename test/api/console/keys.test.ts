import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { DescribedWeb } from './support/records.ts'
import { aCall, useDescribed } from './support/records.ts'
import { withinOneDay } from '../../support/one-day.ts'

describe('the keys of an account', () => {
  before(withinOneDay)
  const web = useDescribed()

  describe('/api/keys', () => {
    it('refuses a name that is none, and takes any other of 60 characters as it was typed', async () => {
      const { api } = await web.signedIn()
      for (const name of [undefined, 5, '   ', '😀'.repeat(61), 'a\0b', 'a\nb', '\ud800', 'a\u202eb', 'a\u200bb']) {
        const refused = await api('POST', '/api/keys', { name })
        expect([refused.status, refused.json.error], JSON.stringify(name)).to.deep.equal([400, 'invalid_request'])
        expect(refused.json.message).to.match(/^name /)
      }
      for (const name of [' two words ', '😀'.repeat(60), '👩‍🚀', "'; --", 'مفتاح'])
        expect((await api('POST', '/api/keys', { name })).json.key?.name, name).to.equal(name)
    })

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
        const made = await Promise.all(Array.from({ length: 40 }, () => api('POST', '/api/keys', { name: 'x' })))
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

  describe('/api/keys with limits', () => {
    const LIMITS = {
      models: ['sandbox-chat', 'sandbox-image'],
      modalities: ['chat'],
      allowedIps: ['127.0.0.0/8', '2001:db8::/32'],
      expiresAt: '2999-01-01T00:00:00.000Z',
      rateLimit: 10,
      maxOutstanding: 3,
    }
    const BUDGET = { credits: 100, period: 'week' }

    it('makes a key with limits, shows them, and lifts each by null and nothing by its absence', async () => {
      const { api } = await web.signedIn()
      const made = (await api('POST', '/api/keys', { name: 'agent', ...LIMITS, budget: BUDGET })).json
      expect(made.key).to.deep.include(LIMITS)
      expect(made.key.budget).to.deep.include({ ...BUDGET, used: 0, remaining: 100 })
      expect(new Date(made.key.budget.resetsAt).getUTCDay()).to.equal(1)
      expect(made, 'nothing else').to.have.all.keys('ok', 'secret', 'key')
      expect((await get(`${web.url}/v1/key`, made.secret)).json.key).to.deep.equal(made.key)
      const path = `/api/keys/${made.key.id}`
      expect((await api('PATCH', path, {})).json.key).to.deep.equal(made.key)
      for (const field of [...Object.keys(LIMITS), 'budget']) {
        const { key } = (await api('PATCH', path, { [field]: null })).json
        expect(key, field).to.deep.equal({ ...(await listed(api, made.key.id)), [field]: null })
      }
      const bare = await listed(api, made.key.id)
      expect(Object.values(bare).filter((value) => value === null).length).to.be.at.least(9)
      expect((await api('PATCH', path, { name: 'renamed' })).json.key.name).to.equal('renamed')
    })

    const listed = async (api: Awaited<ReturnType<DescribedWeb['signedIn']>>['api'], id: string) =>
      (await api('GET', '/api/keys')).json.data.find((key: { id: string }) => key.id === id)

    it('takes models that do not exist, with a warning: catalogues change', async () => {
      const { account, api } = await web.signedIn()
      const path = `/api/keys/${publicId('key', account.keyId)}`
      const { warnings, key } = (await api('PATCH', path, { models: ['sandbox-chat', 'not-yet'] })).json
      expect(key.models).to.deep.equal(['sandbox-chat', 'not-yet'])
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.contain('not-yet')
    })

    it('ignores a misspelled field, with a warning that names the field that was meant', async () => {
      const { api } = await web.signedIn()
      const made = (await api('POST', '/api/keys', { name: 'x', allowedIPs: ['203.0.113.7'], note: 'y' })).json
      expect(made.key.allowedIps).to.equal(null)
      expect(made.warnings).to.deep.equal([
        'The field "allowedIPs" is unknown and has no effect. Did you mean allowedIps?',
      ])
      const changed = (await api('PATCH', `/api/keys/${made.key.id}`, { max_outstanding: 1, models: ['not-yet'] })).json
      expect(changed.warnings).to.have.length(2)
      expect(changed.warnings[0]).to.contain('Did you mean maxOutstanding?')
      const echoed = (await api('PATCH', `/api/keys/${made.key.id}`, changed.key)).json
      expect(echoed.warnings, 'a key as it was answered').to.deep.equal(changed.warnings.slice(1))
    })

    const FAULTS: [param: string, values: unknown[]][] = [
      ['budget.credits', [0.5, -1, 2 ** 53, '5', null].map((credits) => ({ credits, period: 'day' }))],
      ['budget.period', ['year', 'Day', undefined].map((period) => ({ credits: 1, period }))],
      ['budget', [[], 5, 'total']],
      ['models', [[], 'chat', Array.from({ length: 101 }, (_, at) => `m${at}`)]],
      ['models[1]', [['a', '']]],
      ['models[0]', [['a\0b']]],
      ['modalities', [[], 'chat']],
      ['modalities[0]', [['audio']]],
      ['allowedIps', [[], 'chat', Array.from({ length: 51 }, (_, at) => `10.0.0.${at}`)]],
      ['allowedIps[0]', [['10.0.0.0/33'], ['localhost']]],
      ['expiresAt', ['2000-01-01T00:00:00Z', '2999-01-01', '9999-01-01T00:00:00Z', 5]],
      ['rateLimit', [0, 1.5, '5', 1_000_000_000]],
      ['maxOutstanding', [0, 1.5, 2 ** 31]],
    ]
    it('refuses what is no limit with 400, and names the field', async () => {
      const { account, api } = await web.signedIn()
      const path = `/api/keys/${publicId('key', account.keyId)}`
      const before = await listed(api, publicId('key', account.keyId))
      const bodies = FAULTS.flatMap(([param, values]) =>
        values.map((value) => ({ param, body: { [/^\w+/.exec(param)![0]]: value } })),
      )
      for (const { param, body } of bodies) {
        for (const reply of [await api('PATCH', path, body), await api('POST', '/api/keys', { name: 'x', ...body })]) {
          const said = `${JSON.stringify(body).slice(0, 80)}: ${reply.text}`
          expect([reply.status, reply.json.error], said).to.deep.equal([400, 'invalid_request'])
          expect(reply.json.message.startsWith(param) || param.startsWith('budget.'), said).to.equal(true)
        }
      }
      expect(await listed(api, publicId('key', account.keyId))).to.deep.equal(before)
      expect((await api('GET', '/api/keys')).json.data).to.have.length(1)
    })

    it('rotates a key: one secret is shown, the one before works as long as its grace', async () => {
      const { account, api } = await web.signedIn()
      const path = `/api/keys/${publicId('key', account.keyId)}`
      const rotated = (await api('POST', `${path}/rotate`, { graceSeconds: 604_800 })).json
      expect(rotated.key.hint).to.equal(`${rotated.secret.slice(0, 7)}…${rotated.secret.slice(-4)}`)
      for (const key of [account.key, rotated.secret])
        expect((await get(`${web.url}/v1/models`, key)).status).to.equal(200)
      const again = (await api('POST', `${path}/rotate`)).json
      expect(again.key).to.include({ id: rotated.key.id, previousSecretUntil: null })
      const statuses = await Promise.all(
        [account.key, rotated.secret, again.secret].map(async (key) => (await get(`${web.url}/v1/models`, key)).status),
      )
      expect(statuses).to.deep.equal([401, 401, 200])
      for (const graceSeconds of [-1, 604_801, 1.5, '60', null])
        expect((await api('POST', `${path}/rotate`, { graceSeconds })).status, String(graceSeconds)).to.equal(400)
    })

    it('leaves exactly one secret of many rotations at once', async () => {
      const { account, api } = await web.signedIn()
      const path = `/api/keys/${publicId('key', account.keyId)}/rotate`
      const replies = await Promise.all(Array.from({ length: 8 }, () => api('POST', path, {})))
      const statuses = await Promise.all(
        replies.map(async ({ json }) => (await get(`${web.url}/v1/models`, json.secret)).status),
      )
      expect(statuses.filter((status) => status === 200)).to.have.length(1)
    })

    it('has no way to a key that is revoked, of another account, or nobody’s, and lists none of others', async () => {
      const [mine, theirs] = [await web.signedIn(), await web.signedIn()]
      const revoked = (await mine.api('POST', '/api/keys', { name: 'x' })).json.key.id
      await mine.api('DELETE', `/api/keys/${revoked}`)
      for (const id of [revoked, publicId('key', theirs.account.keyId), publicId('key', newId('key'))]) {
        expect((await mine.api('PATCH', `/api/keys/${id}`, { rateLimit: 1 })).status).to.equal(404)
        expect((await mine.api('POST', `/api/keys/${id}/rotate`, {})).status).to.equal(404)
        if (id !== revoked) expect((await mine.api('DELETE', `/api/keys/${id}`)).status).to.equal(404)
      }
      const ids = (await mine.api('GET', '/api/keys')).json.data.map((key: { id: string }) => key.id)
      expect(ids).to.deep.equal([revoked, publicId('key', mine.account.keyId)])
      expect((await get(`${web.url}/v1/models`, theirs.account.key)).status).to.equal(200)
    })

    it('shows the usage of one key alone', async () => {
      const { account, api } = await web.signedIn(1000)
      const other = (await api('POST', '/api/keys', { name: 'other' })).json.key
      await aCall(web.db, account, { amount: 40 })
      const usage = async (query: string): Promise<number> =>
        (await api('GET', `/api/usage${query}`)).json.data.reduce(
          (sum: number, row: { credits: number }) => sum + row.credits,
          0,
        )
      const id = publicId('key', account.keyId)
      expect([await usage(''), await usage(`?keyId=${id}`), await usage(`?keyId=${other.id}`)]).to.deep.equal([
        40, 40, 0,
      ])
      expect((await api('GET', '/api/usage?keyId=x')).status).to.equal(400)
    })
  })
})
