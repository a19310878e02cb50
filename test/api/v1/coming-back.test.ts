import { expect } from 'chai'
import { prefersAsync } from '../../../src/api/v1/calls/answer-call.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { callOf, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const ASYNC = { prefer: 'respond-async' }

// For that of a call whose client has disconnected: numbered-retries.test.ts.
describe('coming back for an answer', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1000)

  const fetchCall = (id: string, query = ''): Promise<Reply> => account.get(`/v1/calls/${id}${query}`)
  const running = (prompt: string): Promise<unknown> =>
    until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)

  /** Expects 202 with the address of the later answer. */
  function expectAccepted(reply: Reply, preference: string | null): string {
    expect(reply.status, reply.text).to.equal(202)
    expect(reply.json).to.have.all.keys('ok', 'id', 'status')
    expect(reply.json.ok).to.equal(true)
    expect(reply.json.status).to.be.oneOf(['queued', 'running'])
    expect(reply.headers.get('location')).to.equal(`/v1/calls/${reply.json.id}`)
    expect(reply.headers.get('x-call-id')).to.equal(reply.json.id)
    expect(reply.headers.get('preference-applied')).to.equal(preference)
    return reply.json.id as string
  }
  const accepted = async (prompt: string, prefer = 'respond-async', applied: string = prefer): Promise<string> =>
    expectAccepted(await account.image(prompt, {}, { prefer }), applied)

  /** Lets the upstream answer a call that it holds, and expects the answer. */
  async function expectAnswer(prompt: string, id: string): Promise<Reply> {
    await running(prompt)
    gateway.sandbox.release(prompt)
    const reply = await fetchCall(id, '?wait=60')
    expect(reply.status, reply.text).to.equal(200)
    return reply
  }

  it('Prefer: respond-async is answered at once, with the address of the later answer', async () => {
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    const meanwhile = await fetchCall(id)
    expect(meanwhile.status).to.equal(202)
    expect(meanwhile.json).to.include({ ok: true, id })
    expect((await expectAnswer(prompt, id)).json.usage).to.include({ credits: 40, balance: 960 })
  })

  it('Prefer: respond-async makes no stream of a chat, since nobody would read it', async () => {
    const content = prompted('[hold] [answer hi]')
    const id = expectAccepted(await account.chat(content, { stream: true }, ASYNC), 'respond-async')
    await running(content)
    expect(gateway.sandbox.open(content).streams).to.equal(0)
    const reply = await expectAnswer(content, id)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion' })
    expect(reply.json.choices[0].message.content).to.equal('hi')
  })

  it('Prefer: respond-async goes before Accept: text/event-stream', async () => {
    const headers = { ...ASYNC, accept: 'text/event-stream' }
    const id = expectAccepted(await account.image(prompted(), {}, headers), 'respond-async')
    expect((await fetchCall(id, '?wait=60')).status).to.equal(200)
  })

  it('Prefer: wait=N is answered with the result, or after N seconds with its address', async () => {
    expect((await account.image(prompted(), {}, { prefer: 'wait=60, respond-async' })).status).to.equal(200)
    const prompt = prompted('[hold]')
    const started = performance.now()
    const id = await accepted(prompt, 'respond-async, wait=1', 'wait=1')
    expect(performance.now() - started).to.be.at.least(950)
    await expectAnswer(prompt, id)
  })

  it('a preference is found among others, and unknown ones are ignored', async () => {
    const slow = prompted('[hold]')
    await expectAnswer(slow, await accepted(slow, 'handling=lenient, Respond-Async', 'respond-async'))
    await accepted(prompted(), 'respond-async; since=today', 'respond-async')
    await accepted(prompted(), 'wait=0 ; since="today"', 'wait=0')
    const others =
      'handling=strict|wait|wait=|wait=-1|wait=x|respond-asynchronously||,,;=|handling=strict; respond-async'
    for (const prefer of others.split('|'))
      expect(prefersAsync({ req: { headers: { prefer } } } as never), prefer).to.equal(false)
    expect((await account.image(prompted(), {}, { prefer: 'wait=x, handling=strict' })).status).to.equal(200)
  })

  it('a call is shown as queued or running', async () => {
    await gateway.stopWorker()
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    expect((await fetchCall(id)).json.status).to.equal('queued')
    await gateway.startWorker()
    await running(prompt)
    expect((await fetchCall(id)).json.status).to.equal('running')
    await expectAnswer(prompt, id)
  })

  it('?wait=N holds the request until the call ends, and no longer than N seconds', async () => {
    const prompt = prompted('[hold]')
    const id = await accepted(prompt)
    await running(prompt)
    const started = performance.now()
    const early = await fetchCall(id, '?wait=1')
    expect(performance.now() - started).to.be.at.least(950)
    expect([early.status, early.json.status]).to.deep.equal([202, 'running'])
    const released = performance.now()
    gateway.sandbox.release(prompt)
    const replies = await Promise.all([fetchCall(id, '?wait=60'), fetchCall(id, '?wait=60')])
    expect(performance.now() - released, 'long before the wait is over').to.be.below(55_000)
    expect(replies.map((reply) => reply.status)).to.deep.equal([200, 200])
    for (const query of ['?wait=61', '?wait=-1', '?wait=x', '?wait=1.5', '?wait=', '?wait=1&wait=2']) {
      const { status, json } = await fetchCall(id, query)
      expect(status, query).to.equal(400)
      expect(json.error, query).to.include({ type: 'invalid_request', param: 'wait' })
    }
  })

  it('the answer has the same bytes as that of the waiting request, as often as it is fetched', async () => {
    for (const reply of [
      await account.image(prompted()),
      await account.chat(prompted()),
      await account.image(prompted('[status 400]')),
    ]) {
      const id = reply.headers.get('x-call-id')!
      for (const again of [await fetchCall(id), await fetchCall(id), await fetchCall(id, '?wait=5')]) {
        expect([again.status, again.text]).to.deep.equal([reply.status, reply.text])
        for (const header of ['content-type', 'x-call-id', 'x-should-retry', 'cache-control'])
          expect(again.headers.get(header), header).to.equal(reply.headers.get(header))
      }
    }
  })

  it('an expired result is 410, before and after it was deleted, and a refusal cannot be fetched', async () => {
    const first = await account.image(prompted())
    const id = first.headers.get('x-call-id')!
    const stored = () => gateway.db('call_results').where({ call_id: callOf(first) })
    await stored().update({ expires_at: gateway.db.raw("now() - interval '1 second'") })
    const expired = await fetchCall(id)
    expect([expired.status, expired.json.error.type]).to.deep.equal([410, 'result_expired'])
    await until('the sweep', async () => !(await stored().first()))
    expect((await fetchCall(id)).status).to.equal(410)
    const refused = await account.image('')
    expect((await fetchCall(refused.headers.get('x-call-id')!)).status).to.equal(404)
  })
})
