import { expect } from 'chai'
import { get } from '../../../scripts/harness/http.ts'
import { useGateway } from '../../support/gateway.ts'
import { anAsker } from '../../support/console.ts'

describe('a key whose rotation an operator forces', () => {
  const gateway = useGateway()

  const statusOf = async (key: string): Promise<number> => (await get(`${gateway.url}/v1/models`, key)).status

  it('is refused at once with every secret, and shows the operator none', async () => {
    const [owner, operator] = [await anAsker(gateway), await anAsker(gateway, 'admin')]
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
    const mail = await gateway.db('mails').where({ recipient: owner.email, kind: 'key_rotated' }).first('details')
    expect(mail.details).to.deep.equal({ name: 'server', hint: next.key.hint, secret: 'ended' })
  })

  it('gets a secret from its owner alone, whatever grace they ask for, and keeps the rest', async () => {
    const [owner, operator] = [await anAsker(gateway), await anAsker(gateway, 'admin')]
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
