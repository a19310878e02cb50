import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { changeMember, removeMember } from '../../../src/shared/identity/member-changes.ts'
import { callerOf } from '../../support/caller.ts'
import type { Caller } from '../../support/caller.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { image, prompted } from '../../../scripts/harness/calling.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'

type Member = TestMember & Caller

describe('members at the gateway', () => {
  before(withinOneDay)
  const gateway = useGateway()
  const second = useSecondWeb(gateway)

  /** An organisation with its owner, and members with these fields. */
  async function organised<T extends Parameters<typeof aMember>[2][]>(credits: number, ...fields: T) {
    const owner = callerOf(gateway, await anOrganisation(gateway.db, credits))
    const members: Member[] = []
    for (const one of fields) members.push(callerOf(gateway, await aMember(gateway.db, owner, one)))
    return [owner, ...members] as [Member, ...{ [at in keyof T]: Member }]
  }
  const openOf = async ({ id }: Member): Promise<number> =>
    (await gateway.db('accounts').where({ id }).first<{ open: number }>({ open: 'outstanding_calls' })).open
  const memberOf = ({ id, userId }: Member) => ({ userId, accountId: id })
  const codeOf = ({ status, json }: { status: number; json: { error: { type: string } } }) => [status, json.error.type]

  it('have a budget: 402 with the time of its reset, beside one of the key too, and recorded', async () => {
    const [owner, member] = await organised(1000, { budget: { credits: 40, period: 'day' } })
    await changeKey(gateway.db, member.keyId, { budget: { credits: 40, period: 'month' } })
    expect((await member.image(prompted())).status).to.equal(200)
    const refused = await member.image(prompted())
    const midnight = new Date().setUTCHours(24, 0, 0, 0)
    expect(codeOf(refused)).to.deep.equal([402, 'member_budget_exceeded'])
    expect(refused.json.error.message).to.contain('your budget in this account')
    expect(Date.parse(refused.json.error.resetsAt)).to.be.within(midnight - 86_400_000, midnight)
    expect(await gateway.record(refused)).to.include({ status: 'rejected', errorType: 'member_budget_exceeded' })
    await changeMember(gateway.db, memberOf(member), { budget: null }, owner.userId)
    expect(codeOf(await member.image(prompted()))).to.deep.equal([402, 'key_budget_exceeded'])
    expect((await owner.image(prompted())).status, 'of another member').to.equal(200)
  })

  it('alone know their calls and responses by an id, with any key of theirs', async () => {
    const [owner, one, other] = await organised(10_000, {}, {})
    const call = `/v1/calls/${(await one.image(prompted())).headers.get('x-call-id')}`
    expect((await one.get(call)).status).to.equal(200)
    for (const stranger of [other, owner]) expect((await stranger.get(call)).status).to.equal(404)
    const made = await send('POST', `${gateway.url}/api/keys`, { key: one.token, body: { name: 'second' } })
    expect((await get(`${gateway.url}${call}`, made.json.secret)).status).to.equal(200)

    const ask = (member: Member, more: object = {}) =>
      member.post('/v1/responses', { model: 'sandbox-chat', input: prompted(), max_output_tokens: 20, ...more })
    const { id } = (await ask(one)).json
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/input_items'],
      ['DELETE', ''],
      ['POST', '/cancel'],
    ] as const)
      expect((await other.send(method, `/v1/responses/${id}${path}`)).status, method + path).to.equal(404)
    expect((await ask(other, { previous_response_id: id })).json.error.code).to.equal('previous_response_not_found')
    expect((await ask(one, { previous_response_id: id })).status).to.equal(200)
  })

  it('name their calls for themselves: an Idempotency-Key of one is none of another', async () => {
    const [owner, one, other] = await organised(10_000, {}, {})
    const [prompt, headers] = [prompted(), { 'idempotency-key': prompted() }]
    const asked = await Promise.all(
      [one, other, one, other].map((member, at) => image([gateway, second][at >> 1]!, member, prompt, {}, headers)),
    )
    expect(asked.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    const ids = asked.map((reply) => reply.headers.get('x-call-id'))
    expect([ids[0] === ids[2], ids[1] === ids[3], ids[0] === ids[1]]).to.deep.equal([true, true, false])
    expect(await owner.balance()).to.equal(10_000 - 80)
  })

  it('are refused at once when they are removed, while their calls that run end', async () => {
    const [owner, member] = await organised(10_000, { budget: { credits: 500, period: 'day' } })
    const running = member.chat(prompted('[delay 700]'))
    await until('the call is open', async () => (await openOf(member)) === 1)
    await removeMember(gateway.db, memberOf(member), owner.userId)
    expect((await member.image(prompted())).status).to.equal(401)
    const answer = await running
    expect(answer.status, answer.text).to.equal(200)
    expect(await openOf(member)).to.equal(0)
  })

  it('see their own records, and owner and admins all, by member too', async () => {
    const [owner, one, other] = await organised(10_000, {}, { role: 'admin' })
    await one.image(prompted())
    await other.image(prompted())
    const api = (path: string, { token }: Member) => get(`${gateway.url}/api/${path}`, token)
    const listed = async (path: string, member: Member) => (await api(path, member)).json.data
    const mine = await listed('calls', one)
    const all = await listed('calls', other)
    expect([mine.length, all.length]).to.deep.equal([1, 2])
    const theirs = all.find(({ id }: { id: string }) => id !== mine[0].id)
    expect((await api(`calls/${theirs.id}`, one)).status).to.equal(404)
    expect(await listed(`calls?memberId=${mine[0].memberId}`, other)).to.deep.equal(mine)
    expect(await listed(`calls?memberId=${theirs.memberId}`, one)).to.deep.equal([])
    expect((await listed('usage', one))[0].calls).to.equal(1)
    expect((await listed('usage', owner))[0].calls).to.equal(2)
    const members = await listed('usage/members', other)
    expect(members.map((row: Record<string, unknown>) => [row.email, row.calls, row.credits])).to.have.deep.members([
      [one.email, 1, 40],
      [other.email, 1, 40],
    ])
    const lines = (await api('exports/members', owner)).text.split('\r\n')
    expect(lines[0]).to.equal('day,memberId,email,calls,failed,credits,inputTokens,outputTokens')
    expect(lines).to.have.length(4)
    expect((await api('exports/calls', one)).text.split('\r\n')).to.have.length(3)
    expect((await api('usage/members', one)).status).to.equal(403)
  })
})
