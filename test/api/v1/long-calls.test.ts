import { expect } from 'chai'
import { createParser } from 'eventsource-parser'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { begin, get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { IMAGES, VIDEOS, chat, chatBody, image, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

type Event = { event: string | undefined; data: Record<string, any> } // oxlint-disable-line typescript/no-explicit-any

/** The events of a whole stream. */
function eventsOf(text: string): Event[] {
  const events: Event[] = []
  createParser({ onEvent: ({ event, data }) => events.push({ event, data: JSON.parse(data) as Event['data'] }) }).feed(
    text,
  )
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

  /** A web process of the same service with another LONG_CALL_REPLY. */
  function useWeb(reply: string): { readonly url: string } {
    let web: TestWeb
    before(async () => {
      web = await startTestWeb(
        Object.freeze({ ...gateway.config, LONG_CALL_REPLY: reply as 'accepted', LONG_CALL_AFTER_SECONDS: 1 }),
      )
    })
    after(() => web.stop())
    return {
      get url() {
        return web.url
      },
    }
  }

  /** A busy machine may be slower than a call may be that is not long: then the next one is tried. */
  const withinTheWhile = (what: string, isSo: () => Promise<boolean>): Promise<unknown> =>
    until(`${what} within a second`, isSo)

  describe('where LONG_CALL_REPLY is accepted', () => {
    const web = useWeb('accepted')

    it('is answered 202 after a while, and can be fetched from any process', async () => {
      const prompt = prompted('[hold]')
      await gateway.stopWorker()
      const reply = await image(web, account, prompt)
      await gateway.startWorker()
      expect(reply.status, reply.text).to.equal(202)
      expect(reply.json).to.include({ ok: true, status: 'queued' })
      expect(reply.headers.get('location')).to.equal(`/v1/calls/${reply.json.id}`)
      expect(reply.headers.get('preference-applied')).to.equal(null)
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      for (const place of [gateway, web]) {
        const fetched = await get(`${place.url}/v1/calls/${reply.json.id}?wait=60`, account.key)
        expect([fetched.status, fetched.json.usage.balance]).to.deep.equal([200, 960])
      }
    })

    it('is said to be running once a worker has it', async () => {
      await withinTheWhile('a call that a worker has', async () => {
        const prompt = prompted('[hold]')
        const { status, json } = await image(web, account, prompt)
        expect(status).to.equal(202)
        await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
        return json.status === 'running'
      })
    })

    it('is answered as usual if it was quick, or as the client prefers', async () => {
      await withinTheWhile('an image', async () => (await image(web, account, prompted())).status === 200)
      await withinTheWhile('a chat', async () => (await chat(web, account, prompted())).status === 200)
      expect((await image(web, account, prompted('[delay 1500]'), {}, { prefer: 'wait=60' })).status).to.equal(200)
    })
  })

  describe('in the form of the Messages API, whose clients take a 202 for a malformed answer', () => {
    const web = useWeb('accepted')

    const ask = (url: string, prompt: string, retry: number) =>
      fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': account.key,
          'x-stainless-retry-count': String(retry),
        },
        body: JSON.stringify({ ...chatBody(prompt), max_tokens: 20 }),
      })

    it('is kept alive where LONG_CALL_REPLY is accepted', async () => {
      const prompt = prompted('[hold] [answer at last]')
      const response = await ask(web.url, prompt, 0)
      expect(response.status).to.equal(200)
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      expect(await response.json()).to.deep.include({ type: 'message', content: [{ type: 'text', text: 'at last' }] })
    })

    it('is 503 where its process stops, and is joined by a retry: one charge', async () => {
      const stopping = await startTestWeb(gateway.config)
      const prompt = prompted('[hold] [answer at last]')
      const asking = ask(stopping.url, prompt, 0)
      await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
      const [response] = await Promise.all([asking, stopping.stop()])
      expect(response.status).to.equal(503)
      expect(response.headers.get('x-should-retry')).to.equal('true')
      expect(((await response.json()) as { error: object }).error).to.include({ type: 'overloaded_error' })
      const retrying = ask(gateway.url, prompt, 1)
      await until('the retry to have joined it', async () => {
        const { abandoned_at: left } = await gateway.db('calls').where({ account_id: account.id }).first()
        return left === null
      })
      gateway.sandbox.release(prompt)
      const retried = await retrying
      const id = response.headers.get('x-call-id')
      expect([retried.status, retried.headers.get('x-call-id')]).to.deep.equal([200, id])
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    })
  })

  describe('where LONG_CALL_REPLY is heartbeat', () => {
    const web = useWeb('heartbeat')

    it('begins its answer with a space and ends it with the JSON', async () => {
      const prompt = prompted('[hold]')
      const response = await begin(`${web.url}${IMAGES}`, account.key, imageBody(prompt))
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.match(/^application\/json/)
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      const text = await response.text()
      expect(text).to.match(/^ +\{"ok":true/)
      expect((JSON.parse(text) as Reply['json']).usage).to.include({ credits: 40, balance: 960 })
    })

    it('reports a late failure in the body: ok is false, and the error is the same', async () => {
      const reply = await image(web, account, prompted('[hang]'), { model: 'hasty-image' })
      expect(reply.status).to.equal(200)
      expect(reply.json.ok).to.equal(false)
      expect(reply.json.error).to.include({ type: 'upstream_failed', code: 'upstream_failed', param: null })
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000)
    })

    it('breaks off when its process stops first, says where the answer will be, and is joined by a retry', async () => {
      const stopping = await startTestWeb(
        Object.freeze({ ...gateway.config, LONG_CALL_REPLY: 'heartbeat' as const, LONG_CALL_AFTER_SECONDS: 1 }),
      )
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${account.key}`,
        'x-stainless-retry-count': '0',
      }
      const prompt = prompted('[hold]')
      const body = JSON.stringify(imageBody(prompt))
      const response = await fetch(`${stopping.url}${IMAGES}`, { method: 'POST', headers, body })
      expect(response.status).to.equal(200)
      const id = response.headers.get('x-call-id')
      const [text] = await Promise.all([readUntilBroken(response), stopping.stop()])
      expect(JSON.parse(text)).to.deep.include({ ok: false })
      expect(text)
        .to.match(/"type":"service_unavailable"/)
        .and.to.include(`/v1/calls/${id}`)
      const retrying = fetch(`${gateway.url}${IMAGES}`, {
        method: 'POST',
        headers: { ...headers, 'x-stainless-retry-count': '1' },
        body,
      })
      await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
      const retried = await retrying
      expect([retried.status, retried.headers.get('x-call-id')]).to.deep.equal([200, id])
      expect(await balanceOf(gateway.db, account.id)).to.equal(960)
    })

    it('has the status of an early failure', async () => {
      await withinTheWhile('a failure', async () => {
        const { status } = await image(web, account, prompted('[status 400]'))
        expect(status).to.be.oneOf([200, 502])
        return status === 502
      })
    })
  })

  describe('as server-sent events', () => {
    const EVENTS = { accept: 'text/event-stream' }

    it('has events for queued, running and progress, and then the result', async () => {
      const prompt = prompted('[hold]')
      const reply = await begin(
        `${gateway.url}${VIDEOS}`,
        account.key,
        { model: 'sandbox-video', prompt },
        { headers: EVENTS },
      )
      expect(reply.status).to.equal(200)
      expect(reply.headers.get('content-type')).to.match(/^text\/event-stream/)
      expect(reply.headers.get('cache-control')).to.equal('no-store')
      let text = ''
      for await (const piece of reply.body!) {
        text += Buffer.from(piece).toString()
        if (text.includes('event: progress')) gateway.sandbox.release(prompt)
      }
      const events = eventsOf(text)
      expect(events[0]!.event).to.equal('queued')
      expect(events[1]!.event).to.equal('running')
      expect(events.slice(2, -1).map(({ event }) => event))
        .to.include('progress')
        .and.to.satisfy((names: string[]) => names.every((name) => name === 'progress'))
      const id = reply.headers.get('x-call-id')
      for (const { data } of events.slice(0, -1)) expect(data.id).to.equal(id)
      for (const { data } of events.slice(2, -1)) expect(data.progress).to.be.within(0, 100)
      const { event, data } = events.at(-1)!
      expect(event).to.equal('result')
      expect(data).to.deep.include({ ok: true })
      expect(data.usage).to.include({ credits: 250, balance: 750 })
      expect((await get(`${gateway.url}/v1/calls/${id}`, account.key)).json).to.deep.equal(data)
    })

    it('has a failure as its last event, refunded', async () => {
      const events = eventsOf((await image(gateway, account, prompted('[status 400]'), {}, EVENTS)).text)
      expect(events[0]!.event).to.equal('queued')
      expect(events.at(-1)!.event).to.equal('error')
      expect(events.at(-1)!.data).to.deep.include({ ok: false })
      expect(events.at(-1)!.data.error.type).to.equal('upstream_failed')
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000)
    })

    it('answers a refusal as JSON with its status', async () => {
      const reply = await image(gateway, account, '', {}, EVENTS)
      expect([reply.status, reply.json.error.type]).to.deep.equal([400, 'invalid_prompt'])
      const empty = await anAccount(gateway.db, 1)
      expect((await image(gateway, empty, 'x', {}, EVENTS)).status).to.equal(402)
    })

    it('continues when its reader disconnects', async () => {
      const prompt = prompted('[hold]')
      const leaving = new AbortController()
      const response = await begin(`${gateway.url}${IMAGES}`, account.key, imageBody(prompt), {
        signal: leaving.signal,
        headers: EVENTS,
      })
      const id = response.headers.get('x-call-id')
      await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
      leaving.abort()
      gateway.sandbox.release(prompt)
      expect((await get(`${gateway.url}/v1/calls/${id}?wait=60`, account.key)).status).to.equal(200)
      expect(gateway.sandbox.open(prompt).aborted).to.equal(0)
    })
  })
})
