import { expect } from 'chai'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import type { Person } from '../../support/console.ts'
import { aVisitor, anAsker, useConsole, useOperator } from '../../support/console.ts'

describe('what an operator changes of an account', () => {
  const web = useConsole({ GATEWAY_RATE_LIMIT: '60' }, { hasOwnDatabase: true })
  const operator = useOperator(web)

  describe('/api/operator/accounts/:id/limits', () => {
    const limit = (id: string, body: unknown, token = operator.token): Promise<Reply> =>
      send('PATCH', `${web.url}/api/operator/accounts/${id}/limits`, { key: token, body })
    const shown = async (id: string) => (await web.get(`/api/operator/accounts/${id}`, operator.token)).json

    it('sets limits, keeps those that are not named, lifts those that are null', async () => {
      const { id } = await aVisitor(web)
      const set = await limit(id, { rateLimit: 600, tokensPerMinute: 1_000_000 })
      const due = { rateLimit: 600, maxOutstanding: null, tokensPerMinute: 1_000_000 }
      expect(set.json.account.limits).to.deep.equal(due)
      await limit(id, { maxOutstanding: 5, tokensPerMinute: null })
      const { limits } = (await limit(id, {})).json.account
      expect(limits).to.deep.equal({ rateLimit: 600, maxOutstanding: 5, tokensPerMinute: null })
      expect((await shown(id)).actions, 'nothing changed by the last').to.have.lengthOf(2)
    })

    it('names the field at fault, and changes nothing', async () => {
      const { id, token } = await aVisitor(web)
      for (const field of ['rateLimit', 'maxOutstanding', 'tokensPerMinute'])
        for (const value of [0, -1, 1.5, '5', true, [], 1e15]) {
          const reply = await limit(id, { [field]: value })
          expect([reply.status, reply.json.error], `${field} ${String(value)}`).to.deep.equal([400, 'invalid_request'])
          expect(reply.json.message).to.match(new RegExp(`^${field} `))
        }
      expect((await limit(id, { rateLimit: 1 }, token)).status).to.equal(403)
      expect((await limit(publicId('account', newId('account')), { rateLimit: 1 })).status).to.equal(404)
      expect((await shown(id)).actions).to.deep.equal([])
    })

    it('bounds the rate limit of keys, which owners, too, may set as high as that of their account', async () => {
      const { id, token } = await aVisitor(web)
      const asOwner = (body: object) => web.post('/api/keys', { name: 'mine', ...body }, token)
      const { message } = (await asOwner({ rateLimit: 100 })).json
      expect(message).to.equal('rateLimit must be at most that of the account, 60.')
      await limit(id, { rateLimit: 200 })
      const made = await asOwner({ rateLimit: 200, tokensPerMinute: 5000 })
      expect(made.json.key).to.include({ rateLimit: 200, tokensPerMinute: 5000 })
      for (const path of [`/api/keys/${made.json.key.id}`, `/api/operator/keys/${made.json.key.id}`]) {
        const change = (body: object) =>
          send('PATCH', `${web.url}${path}`, { key: path.includes('operator') ? operator.token : token, body })
        expect((await change({ rateLimit: 201 })).json.message).to.match(/at most that of the account, 200\.$/)
        const expected = { rateLimit: 150, tokensPerMinute: null }
        expect((await change({ rateLimit: 150, tokensPerMinute: null })).json.key).to.include(expected)
      }
      await limit(id, { rateLimit: 10 })
      expect((await asOwner({ rateLimit: 11 })).status).to.equal(400)
      expect((await web.get('/api/keys', token)).json.data[0]).to.include({ rateLimit: 150 })
    })
  })

  const CATALOGUE = '/api/operator/catalogue'

  describe('the group of an account, for operators', () => {
    let customer: Person
    before(async () => {
      customer = await aVisitor(web)
      const { catalogue, version } = (await web.get(CATALOGUE, operator.token)).json
      const groups = { partner: { priceBasisPoints: 8000, models: ['sandbox-chat'] } }
      const body = { catalogue: { ...catalogue, groups }, expect: version }
      const applied = await web.post(CATALOGUE, body, operator.token)
      const fields = [{ path: '', before: null, after: groups.partner }]
      expect(applied.json.changes).to.deep.equal([{ part: 'group', name: 'partner', change: 'added', fields }])
    })

    const put = (group: unknown, of: Person = customer, by: Person = operator): Promise<Reply> =>
      send('PUT', `${web.url}/api/operator/accounts/${of.id}/group`, { key: by.token, body: { group } })

    it('is refused where there is no such group or account, to customers, and of their own account', async () => {
      const { error, message } = (await put('nope')).json
      expect([error, message]).to.deep.equal(['invalid_request', 'group must be one of the catalogue.'])
      expect((await put(5)).status).to.equal(400)
      expect((await put('partner', { ...customer, id: 'acc_00000000000000000000000000000000' })).status).to.equal(404)
      expect((await put('partner', customer, customer)).status).to.equal(403)
      expect((await put('partner', operator)).json.error).to.equal('forbidden')
    })
  })

  describe('a key whose rotation an operator forces', () => {
    const statusOf = async (key: string): Promise<number> => (await web.get('/v1/models', key)).status

    it('is refused at once with every secret, and shows the operator none', async () => {
      const [owner, operator] = [await anAsker(web), await anAsker(web, 'admin')]
      const made = (await owner.ask('POST', '/api/keys', { name: 'server' })).json
      const next = (await owner.ask('POST', `/api/keys/${made.key.id}/rotate`, { graceSeconds: 600 })).json
      expect([await statusOf(made.secret), await statusOf(next.secret)]).to.deep.equal([200, 200])
      const path = `/api/operator/keys/${made.key.id}/rotate`
      const { status, json, text } = await operator.ask('POST', path, { graceSeconds: 604_800 })
      expect(status, text).to.equal(200)
      expect(text).not.to.match(/tg_[0-9A-Za-z]{40}/)
      expect(Object.keys(json)).to.have.members(['ok', 'key'])
      expect(json.key).to.include({ id: made.key.id, hint: next.key.hint, previousSecretUntil: null, revokedAt: null })
      expect(json.key.secretEndedAt).to.be.a('string')
      expect([await statusOf(made.secret), await statusOf(next.secret)]).to.deep.equal([401, 401])
      const mail = await web.db('mails').where({ recipient: owner.email, kind: 'key_rotated' }).first('details')
      expect(mail.details).to.deep.equal({ name: 'server', hint: next.key.hint, secret: 'ended' })
    })

    it('gets a secret from its owner alone, whatever grace they ask for, and keeps the rest', async () => {
      const [owner, operator] = [await anAsker(web), await anAsker(web, 'admin')]
      const made = (await owner.ask('POST', '/api/keys', { name: 'server', rateLimit: 7 })).json
      await operator.ask('POST', `/api/operator/keys/${made.key.id}/rotate`)
      await operator.ask('POST', `/api/operator/keys/${made.key.id}/rotate`)
      const [shown] = (await owner.ask('GET', '/api/keys')).json.data
      expect(shown.secretEndedAt).to.be.a('string')
      const renewed = (await owner.ask('POST', `/api/keys/${made.key.id}/rotate`, { graceSeconds: 600 })).json
      expect(renewed.key).to.include({ rateLimit: 7, secretEndedAt: null, previousSecretUntil: null })
      expect([await statusOf(made.secret), await statusOf(renewed.secret)]).to.deep.equal([401, 200])
    })
  })
})
