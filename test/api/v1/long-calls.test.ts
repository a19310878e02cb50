import { expect } from 'chai'
import { createParser } from 'eventsource-parser'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { begin } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { IMAGES, VIDEOS, chatBody, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { callerOf } from '../../support/caller.ts'
import { useAccount, useFor, useGateway } from '../../support/gateway.ts'

type Event = { event: string | undefined; data: Record<string, any> } // oxlint-disable-line typescript/no-explicit-any

/** The events of a whole stream. */
function eventsOf(text: string): Event[] {
  const events: Event[] = []
  const onEvent = ({ event, data }: { event?: string | undefined; data: string }) =>
    events.push({ event, data: JSON.parse(data) as Event['data'] })
  createParser({ onEvent }).feed(text)
  return events
}

/** The text of a body that ends before its end. Fails where it ends as it should. */
async function readUntilBroken(response: Response): Promise<string> {
  let text = ''
  try {
    for await (const piece of response.body!) text += Buffer.from(piece).toString()
  } catch {
    return text
  }
  throw new Error(`the body came whole: ${text}`)
}

describe('a call that takes long', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1000)

  /** Another web process of the same service, with this LONG_CALL_REPLY. */
  const startPatient = (LONG_CALL_REPLY: 'accepted' | 'heartbeat'): Promise<TestWeb> =>
    startTestWeb(Object.freeze({ ...gateway.config, LONG_CALL_REPLY, LONG_CALL_AFTER_SECONDS: 1 }))
  const [accepting, beating] = (['accepted', 'heartbeat'] as const).map((reply) =>
    useFor(
      () => startPatient(reply),
      ({ stop }) => stop(),
    ),
  ) as [TestWeb, TestWeb]
  const at = (web: TestWeb) => callerOf(web, account)
  const released = (prompt: string) => until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)

  describe('where LONG_CALL_REPLY is accepted', () => {
    it('is answered 202 after a while, and can be fetched from any process', async () => {
      const prompt = prompted('[hold]')
      await gateway.stopWorker()
      const reply = await at(accepting).image(prompt)
      await gateway.startWorker()
      expect(reply.status, reply.text).to.equal(202)
      expect(reply.json).to.include({ ok: true, status: 'queued' })
      expect(reply.headers.get('location')).to.equal(`/v1/calls/${reply.json.id}`)
      expect(reply.headers.get('preference-applied')).to.equal(null)
      await released(prompt)
      for (const place of [gateway, accepting]) {
        const fetched = await at(place).get(`/v1/calls/${reply.json.id}?wait=60`)
        expect([fetched.status, fetched.json.usage.balance]).to.deep.equal([200, 960])
      }
    })
  })

  describe('in the form of the Messages API, whose clients take a 202 for a malformed answer', () => {
    const ask = (web: TestWeb, prompt: string, retry: number) =>
      at(web).post('/v1/messages', chatBody(prompt, { max_tokens: 20 }), { 'x-stainless-retry-count': String(retry) })

    it('is kept alive where LONG_CALL_REPLY is accepted', async () => {
      const prompt = prompted('[delay 1500] [answer at last]')
      const reply = await ask(accepting, prompt, 0)
      expect(reply.status).to.equal(200)
      expect(reply.json).to.deep.include({ type: 'message', content: [{ type: 'text', text: 'at last' }] })
    })

    it('is 503 where its process stops, for a retry to join it', async () => {
      const stopping = await startTestWeb(gateway.config)
      const prompt = prompted('[hold]')
      const asking = ask(stopping, prompt, 0)
      await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
      const [reply] = await Promise.all([asking, stopping.stop()])
      expect([reply.status, reply.headers.get('x-should-retry')]).to.deep.equal([503, 'true'])
      expect(reply.json.error).to.include({ type: 'overloaded_error' })
      await released(prompt)
    })
  })

  describe('where LONG_CALL_REPLY is heartbeat', () => {
    it('begins its answer with a space and ends it with the JSON', async () => {
      const prompt = prompted('[hold]')
      const response = await begin(`${beating.url}${IMAGES}`, account.key, imageBody(prompt))
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.match(/^application\/json/)
      await released(prompt)
      const text = await response.text()
      expect(text).to.match(/^ +\{"ok":true/)
      expect((JSON.parse(text) as { usage: object }).usage).to.include({ credits: 40, balance: 960 })
    })

    it('reports a late failure in the body, where ok is false', async () => {
      const reply = await at(beating).image(prompted('[hang]'), { model: 'hasty-image' })
      expect([reply.status, reply.json.ok]).to.deep.equal([200, false])
      expect(reply.json.error).to.include({ type: 'upstream_failed', code: 'upstream_failed', param: null })
      expect(await account.balance()).to.equal(1000)
    })

    it('breaks off when its process stops first, says where the answer will be, and is joined by a retry', async () => {
      const stopping = await startPatient('heartbeat')
      const prompt = prompted('[hold]')
      const headers = { 'x-stainless-retry-count': '0' }
      const response = await begin(`${stopping.url}${IMAGES}`, account.key, imageBody(prompt), { headers })
      expect(response.status).to.equal(200)
      const id = response.headers.get('x-call-id')
      const [text] = await Promise.all([readUntilBroken(response), stopping.stop()])
      expect(JSON.parse(text)).to.deep.include({ ok: false })
      expect(text).to.include('"type":"service_unavailable"').and.to.include(`/v1/calls/${id}`)
      const retrying = account.image(prompt, {}, { 'x-stainless-retry-count': '1' })
      await released(prompt)
      const retried = await retrying
      expect([retried.status, retried.headers.get('x-call-id')]).to.deep.equal([200, id])
      expect(await account.balance()).to.equal(960)
    })
  })

  describe('as server-sent events', () => {
    const EVENTS = { accept: 'text/event-stream' }

    it('has events for queued, running and progress, and then the result', async () => {
      const prompt = prompted('[hold]')
      const body = { model: 'sandbox-video', prompt }
      const reply = await begin(`${gateway.url}${VIDEOS}`, account.key, body, { headers: EVENTS })
      expect(reply.status).to.equal(200)
      expect(reply.headers.get('content-type')).to.match(/^text\/event-stream/)
      expect(reply.headers.get('cache-control')).to.equal('no-store')
      let text = ''
      for await (const piece of reply.body!) {
        text += Buffer.from(piece).toString()
        if (text.includes('event: progress')) gateway.sandbox.release(prompt)
      }
      const events = eventsOf(text)
      const names = events.map(({ event }) => event)
      expect(names.filter((name, nth) => name !== names[nth - 1])).to.deep.equal(
        'queued running progress result'.split(' '),
      )
      const id = reply.headers.get('x-call-id')
      for (const { event, data } of events.slice(0, -1)) {
        expect(data.id).to.equal(id)
        if (event === 'progress') expect(data.progress).to.be.within(0, 100)
      }
      const { data } = events.at(-1)!
      expect(data).to.deep.include({ ok: true })
      expect(data.usage).to.include({ credits: 250, balance: 750 })
      expect((await account.get(`/v1/calls/${id}`)).json).to.deep.equal(data)
    })

    it('has a failure as its last event, refunded, and answers a refusal as JSON with its status', async () => {
      const events = eventsOf((await account.image(prompted('[status 400]'), {}, EVENTS)).text)
      expect(events[0]!.event).to.equal('queued')
      const { event, data } = events.at(-1)!
      expect([event, data.ok, data.error.type]).to.deep.equal(['error', false, 'upstream_failed'])
      expect(await account.balance()).to.equal(1000)
      const refused = await account.image('', {}, EVENTS)
      expect([refused.status, refused.json.error.type]).to.deep.equal([400, 'invalid_prompt'])
      expect((await (await gateway.account(1)).image('x', {}, EVENTS)).status).to.equal(402)
    })

    it('continues when its reader disconnects', async () => {
      const prompt = prompted('[hold]')
      const leaving = new AbortController()
      const how = { signal: leaving.signal, headers: EVENTS }
      const response = await begin(`${gateway.url}${IMAGES}`, account.key, imageBody(prompt), how)
      const id = response.headers.get('x-call-id')
      await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
      leaving.abort()
      gateway.sandbox.release(prompt)
      expect((await account.get(`/v1/calls/${id}?wait=60`)).status).to.equal(200)
      expect(gateway.sandbox.open(prompt).aborted).to.equal(0)
    })
  })
})
