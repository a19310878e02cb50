import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { changeMember, removeMember } from '../../../src/shared/identity/member-changes.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { CHAT, chat, chatBody, image, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { aMember, anOrganisation, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { get, post, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'

describe('members at the gateway', () => {
  before(withinOneDay)
  const gateway = useGateway()
  const second = useSecondWeb(gateway)

  const openOf = async ({ id }: TestMember): Promise<number> =>
    (await gateway.db('accounts').where({ id }).first<{ open: number }>({ open: 'outstanding_calls' })).open

  const memberOf = ({ id, userId }: TestMember) => ({ userId, accountId: id })

  describe('the budget of a member', () => {
    it('that is spent is 402 with the time of its reset, beside one of the key too, and recorded', async () => {
      const organisation = await anOrganisation(gateway.db, 1000)
      const member = await aMember(gateway.db, organisation, { budget: { credits: 40, period: 'day' } })
      await changeKey(gateway.db, member.keyId, { budget: { credits: 40, period: 'month' } })
      expect((await image(gateway, member, prompted())).status).to.equal(200)
      const refused = await image(gateway, member, prompted())
      const midnight = new Date()
      midnight.setUTCHours(24, 0, 0, 0)
      expect([refused.status, refused.json.error.type]).to.deep.equal([402, 'member_budget_exceeded'])
      expect(refused.json.error.message).to.contain('your budget in this account')
      expect(Date.parse(refused.json.error.resetsAt)).to.be.within(midnight.getTime() - 86_400_000, midnight.getTime())
      expect(await recordOf(gateway.db, refused)).to.include({
        status: 'rejected',
        errorType: 'member_budget_exceeded',
      })
      await changeMember(gateway.db, memberOf(member), { budget: null }, organisation.userId)
      const other = await image(gateway, member, prompted())
      expect([other.status, other.json.error.type]).to.deep.equal([402, 'key_budget_exceeded'])
      expect((await image(gateway, organisation, prompted())).status, 'of another member').to.equal(200)
    })

    it('bounds the output of a chat that names no limit', async () => {
      const organisation = await anOrganisation(gateway.db, 100_000)
      const member = await aMember(gateway.db, organisation, { budget: { credits: 30, period: 'total' } })
      const { max_tokens: _limit, ...body } = chatBody('Say something.')
      const reply = await post(`${gateway.url}${CHAT}`, member.key, body)
      expect(reply.status, reply.text).to.equal(200)
      expect((await recordOf(gateway.db, reply)).creditsPrecharged).to.be.at.most(30)
    })
  })

  describe('what is looked up by an id', () => {
    it('is known to the holder of the key alone, with any key of theirs', async () => {
      const organisation = await anOrganisation(gateway.db, 10_000)
      const [one, other] = [await aMember(gateway.db, organisation), await aMember(gateway.db, organisation)]
      const id = (await image(gateway, one, prompted())).headers.get('x-call-id')!
      const fetched = ({ key }: TestMember) => get(`${gateway.url}/v1/calls/${id}`, key)
      expect((await fetched(one)).status).to.equal(200)
      for (const stranger of [other, organisation]) expect((await fetched(stranger)).status).to.equal(404)
      const made = await send('POST', `${gateway.url}/api/keys`, { key: one.token, body: { name: 'second' } })
      expect((await get(`${gateway.url}/v1/calls/${id}`, made.json.secret)).status).to.equal(200)
    })

    it('so are responses, those that a request names, and their ends', async () => {
      const organisation = await anOrganisation(gateway.db, 10_000)
      const [one, other] = [await aMember(gateway.db, organisation), await aMember(gateway.db, organisation)]
      const ask = (member: TestMember, more: object = {}) =>
        post(`${gateway.url}/v1/responses`, member.key, {
          model: 'sandbox-chat',
          input: prompted(),
          max_output_tokens: 20,
          ...more,
        })
      const { id } = (await ask(one)).json
      const answers = await Promise.all([
        get(`${gateway.url}/v1/responses/${id}`, other.key),
        get(`${gateway.url}/v1/responses/${id}/input_items`, other.key),
        send('DELETE', `${gateway.url}/v1/responses/${id}`, { key: other.key }),
        post(`${gateway.url}/v1/responses/${id}/cancel`, other.key, {}),
      ])
      expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404])
      expect((await ask(other, { previous_response_id: id })).json.error.code).to.equal('previous_response_not_found')
      expect((await ask(one, { previous_response_id: id })).status).to.equal(200)
    })
  })

  it('name their calls for themselves: an Idempotency-Key of one is none of another', async () => {
    const organisation = await anOrganisation(gateway.db, 10_000)
    const [one, other] = [await aMember(gateway.db, organisation), await aMember(gateway.db, organisation)]
    const [prompt, headers] = [prompted(), { 'idempotency-key': prompted() }]
    const asked = await Promise.all(
      [one, other, one, other].map((member, at) => image([gateway, second][at >> 1]!, member, prompt, {}, headers)),
    )
    expect(asked.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    const ids = asked.map((reply) => reply.headers.get('x-call-id'))
    expect([ids[0] === ids[2], ids[1] === ids[3], ids[0] === ids[1]]).to.deep.equal([true, true, false])
    expect(await balanceOf(gateway.db, organisation.id)).to.equal(10_000 - 80)
  })

  it('are refused at once when they are removed, while their calls that run end', async () => {
    const organisation = await anOrganisation(gateway.db, 10_000)
    const member = await aMember(gateway.db, organisation, { budget: { credits: 500, period: 'day' } })
    const running = chat(gateway, member, prompted('[delay 700]'))
    await until('the call is open', async () => (await openOf(member)) === 1)
    await removeMember(gateway.db, memberOf(member), organisation.userId)
    expect((await image(gateway, member, prompted())).status).to.equal(401)
    const answer = await running
    expect(answer.status, answer.text).to.equal(200)
    expect(await openOf(member)).to.equal(0)
  })

  it('see their own records, and owner and admins all, by member too', async () => {
    const organisation = await anOrganisation(gateway.db, 10_000)
    const [one, other] = [
      await aMember(gateway.db, organisation),
      await aMember(gateway.db, organisation, { role: 'admin' }),
    ]
    await image(gateway, one, prompted())
    await image(gateway, other, prompted())
    const api = async (path: string, { token }: TestMember) => await get(`${gateway.url}${path}`, token)
    const mine = (await api('/api/calls', one)).json.data
    expect(mine).to.have.length(1)
    const all = (await api('/api/calls', other)).json.data
    expect(all).to.have.length(2)
    const theirs = all.find(({ id }: { id: string }) => id !== mine[0].id)
    expect((await api(`/api/calls/${theirs.id}`, one)).status).to.equal(404)
    expect((await api(`/api/calls?memberId=${mine[0].memberId}`, other)).json.data).to.deep.equal(mine)
    expect((await api(`/api/calls?memberId=${theirs.memberId}`, one)).json.data).to.deep.equal([])
    expect((await api('/api/usage', one)).json.data[0].calls).to.equal(1)
    expect((await api('/api/usage', organisation)).json.data[0].calls).to.equal(2)
    const members = (await api('/api/usage/members', other)).json.data
    expect(members.map((row: Record<string, unknown>) => [row.email, row.calls, row.credits])).to.have.deep.members([
      [one.email, 1, 40],
      [other.email, 1, 40],
    ])
    const lines = (await api('/api/exports/members', organisation)).text.split('\r\n')
    expect(lines[0]).to.equal('day,memberId,email,calls,failed,credits,inputTokens,outputTokens')
    expect(lines).to.have.length(4)
    expect((await api('/api/exports/calls', one)).text.split('\r\n')).to.have.length(3)
    expect((await api('/api/usage/members', one)).status).to.equal(403)
  })
})
