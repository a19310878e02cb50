import { expect } from 'chai'
import { prefersAsync } from '../../../src/api/v1/calls/answer-call.ts'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { IMAGES, callOf, chat, image, imageBody, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const ASYNC = { prefer: 'respond-async' }

describe('coming back for an answer', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1000)

  const fetchCall = (id: string, query = ''): Promise<Reply> =>
    get(`${gateway.url}/v1/calls/${id}${query}`, account.key)
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

  it('Prefer: respond-async is answered at once, with the address of the later answer', async () => {
    const prompt = prompted('[hold]')
    const id = expectAccepted(await image(gateway, account, prompt, {}, ASYNC), 'respond-async')
    const meanwhile = await fetchCall(id)
    expect(meanwhile.status).to.equal(202)
    expect(meanwhile.json).to.include({ ok: true, id })
    await running(prompt)
    gateway.sandbox.release(prompt)
    const reply = await fetchCall(id, '?wait=60')
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.usage).to.include({ credits: 40, balance: 960 })
  })

  it('Prefer: respond-async also applies to a chat with a stream', async () => {
    const id = expectAccepted(
      await chat(gateway, account, prompted('[answer hi]'), { stream: true }, ASYNC),
      'respond-async',
    )
    const reply = await fetchCall(id, '?wait=60')
    expect(reply.json).to.include({ ok: true, object: 'chat.completion' })
    expect(reply.json.choices[0].message.content).to.equal('hi')
  })

  it('Prefer: wait=N is answered with the result, or after N seconds with its address', async () => {
    const quick = await image(gateway, account, prompted(), {}, { prefer: 'wait=60' })
    expect(quick.status).to.equal(200)
    const prompt = prompted('[hold]')
    const started = performance.now()
    const slow = await image(gateway, account, prompt, {}, { prefer: 'wait=1' })
    expect(performance.now() - started).to.be.at.least(950)
    expectAccepted(slow, 'wait=1')
    await running(prompt)
    gateway.sandbox.release(prompt)
    expect((await fetchCall(slow.json.id, '?wait=60')).status).to.equal(200)
  })

  it('Prefer: respond-async makes no stream of a chat, since nobody would read it', async () => {
    const content = prompted('[hold]')
    expectAccepted(await chat(gateway, account, content, { stream: true }, ASYNC), 'respond-async')
    await running(content)
    expect(gateway.sandbox.open(content).streams).to.equal(0)
    gateway.sandbox.release(content)
  })

  it('Prefer: respond-async goes before Accept: text/event-stream', async () => {
    const headers = { ...ASYNC, accept: 'text/event-stream' }
    const id = expectAccepted(await image(gateway, account, prompted(), {}, headers), 'respond-async')
    expect((await fetchCall(id, '?wait=60')).status).to.equal(200)
  })

  it('Prefer: respond-async, wait=N answers asynchronously after N seconds', async () => {
    for (const prefer of ['respond-async, wait=60', 'wait=60, respond-async']) {
      expect((await image(gateway, account, prompted(), {}, { prefer })).status, prefer).to.equal(200)
    }
    const prompt = prompted('[hold]')
    const slow = await image(gateway, account, prompt, {}, { prefer: 'respond-async, wait=1' })
    expectAccepted(slow, 'wait=1')
    await running(prompt)
    gateway.sandbox.release(prompt)
    expect((await fetchCall(slow.json.id, '?wait=60')).status).to.equal(200)
  })

  it('a preference is found among others, and unknown ones are ignored', async () => {
    const slow = prompted('[hold]')
    expectAccepted(
      await image(gateway, account, slow, {}, { prefer: 'handling=lenient, Respond-Async' }),
      'respond-async',
    )
    await running(slow)
    gateway.sandbox.release(slow)
    for (const [prefer, applied] of [
      ['respond-async; since=today', 'respond-async'],
      ['wait=0 ; since="today"', 'wait=0'],
    ] as const) {
      expectAccepted(await image(gateway, account, prompted(), {}, { prefer }), applied)
    }
    const others =
      'handling=strict|wait|wait=|wait=-1|wait=x|respond-asynchronously||,,;=|handling=strict; respond-async'
    for (const prefer of others.split('|'))
      expect(prefersAsync({ req: { headers: { prefer } } } as never), prefer).to.equal(false)
    expect((await image(gateway, account, prompted(), {}, { prefer: 'wait=x, handling=strict' })).status).to.equal(200)
  })

  it('a call is shown as queued or running', async () => {
    await gateway.stopWorker()
    const prompt = prompted('[hold]')
    const id = expectAccepted(await image(gateway, account, prompt, {}, ASYNC), 'respond-async')
    expect((await fetchCall(id)).json.status).to.equal('queued')
    await gateway.startWorker()
    await running(prompt)
    expect((await fetchCall(id)).json.status).to.equal('running')
    gateway.sandbox.release(prompt)
    expect((await fetchCall(id, '?wait=60')).status).to.equal(200)
  })

  it('a call that begins during a wait is shown as running after it', async () => {
    // A call that begins too late for this, on a slow machine, makes place for another one with a longer wait.
    for (let [seconds, seen] = [2, false]; !seen; seconds *= 2) {
      await gateway.stopWorker()
      const prompt = prompted('[hold]')
      const id = expectAccepted(await image(gateway, account, prompt, {}, ASYNC), 'respond-async')
      let over = false
      const waiting = fetchCall(id, `?wait=${seconds}`).finally(() => {
        over = true
      })
      await gateway.startWorker()
      await running(prompt)
      seen = !over
      const { json } = await waiting
      if (seen) expect(json.status).to.equal('running')
      gateway.sandbox.release(prompt)
      expect((await fetchCall(id, '?wait=60')).status).to.equal(200)
    }
  })

  it('?wait=N holds the request until the call ends, and no longer than N seconds', async () => {
    const prompt = prompted('[hold]')
    const id = expectAccepted(await image(gateway, account, prompt, {}, ASYNC), 'respond-async')
    await running(prompt)
    const started = performance.now()
    const early = await fetchCall(id, '?wait=1')
    expect(performance.now() - started).to.be.at.least(950)
    expect(early.status).to.equal(202)
    expect(early.json.status).to.equal('running')
    const released = performance.now()
    gateway.sandbox.release(prompt)
    const replies = await Promise.all([fetchCall(id, '?wait=60'), fetchCall(id, '?wait=60')])
    expect(performance.now() - released, 'long before the wait is over').to.be.below(55_000)
    expect(replies.map((reply) => reply.status)).to.deep.equal([200, 200])
    for (const query of ['?wait=61', '?wait=-1', '?wait=x', '?wait=1.5', '?wait=', '?wait=1&wait=2']) {
      const reply = await fetchCall(id, query)
      expect([reply.status, reply.json.error.type, reply.json.error.param], query).to.deep.equal([
        400,
        'invalid_request',
        'wait',
      ])
    }
  })

  it('the answer has the same bytes as that of the waiting request, as often as it is fetched', async () => {
    for (const reply of [
      await image(gateway, account, prompted()),
      await chat(gateway, account, prompted()),
      await image(gateway, account, prompted('[status 400]')),
    ]) {
      const id = reply.headers.get('x-call-id')!
      for (const again of [await fetchCall(id), await fetchCall(id), await fetchCall(id, '?wait=5')]) {
        expect([again.status, again.text]).to.deep.equal([reply.status, reply.text])
        for (const header of ['content-type', 'x-call-id', 'x-should-retry', 'cache-control']) {
          expect(again.headers.get(header), header).to.equal(reply.headers.get(header))
        }
      }
    }
  })

  it('a call whose client disconnects is finished, settled and recorded, and can be fetched', async () => {
    const prompt = prompted('[hold]')
    const leaving = new AbortController()
    const left = send('POST', `${gateway.url}${IMAGES}`, {
      key: account.key,
      body: imageBody(prompt),
      signal: leaving.signal,
    }).catch((error: Error) => error.name)
    await running(prompt)
    leaving.abort()
    expect(await left).to.equal('AbortError')
    gateway.sandbox.release(prompt)
    const row = await until('the call to end', () =>
      gateway.db('calls').where({ account_id: account.id }).whereNotNull('finished_at').first<{ id: string }>('id'),
    )
    const reply = await fetchCall(`call_${row.id.replaceAll('-', '')}`)
    expect(reply.status).to.equal(200)
    expect(reply.json.usage).to.include({ credits: 40, balance: 960 })
    expect((await recordOf(gateway.db, reply)).status).to.equal('succeeded')
    expect(gateway.sandbox.open(prompt).aborted).to.equal(0)
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('a streamed chat is fetched as JSON', async () => {
    const streamed = await chat(gateway, account, prompted('[answer one two three] [usage 7 9]'), { stream: true })
    const reply = await fetchCall(streamed.headers.get('x-call-id')!)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion', model: 'sandbox-chat' })
    expect(reply.json.choices[0]).to.deep.include({ index: 0, finish_reason: 'stop' })
    expect(reply.json.choices[0].message.content).to.equal('one two three')
    expect(reply.json.usage).to.include({ input_tokens: 7, output_tokens: 9, credits: 1, balance: 999 })
  })

  it('an expired result is 410, before and after it was deleted', async () => {
    const first = await image(gateway, account, prompted())
    const id = first.headers.get('x-call-id')!
    await gateway
      .db('call_results')
      .where({ call_id: callOf(first) })
      .update({ expires_at: gateway.db.raw("now() - interval '1 second'") })
    const expired = await fetchCall(id)
    expect([expired.status, expired.json.error.type]).to.deep.equal([410, 'result_expired'])
    await until(
      'the sweep',
      async () =>
        !(await gateway
          .db('call_results')
          .where({ call_id: callOf(first) })
          .first()),
    )
    expect((await fetchCall(id)).status).to.equal(410)
  })

  it('the record of a refusal cannot be fetched', async () => {
    const refused = await image(gateway, account, '')
    expect((await fetchCall(refused.headers.get('x-call-id')!)).status).to.equal(404)
  })
})
