import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { useGateway } from '../support/gateway.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { openingsOfDay } from '../../src/shared/operators/upstreams.ts'
import { upstreamsOfLastHour } from '../../src/shared/reports/last-day.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import type { Listening } from '../workers/fetching/servers.ts'
import { serve } from '../workers/fetching/servers.ts'
import { FUNDS, aFundedAccount, ask, modelEntry } from './support/targets.ts'

const MODALITIES = ['chat', 'image', 'video'] as const
type Modality = (typeof MODALITIES)[number]

/** The record of a call that the second upstream has served. */
const SERVED = { status: 'succeeded', upstream: 'sandbox' }

/** Upstreams that misbehave on every request. */
const MANNERS: Record<string, RequestListener> = {
  failing: (_request, response) => void response.writeHead(500).end('{}'),
  overloaded: (_request, response) => void response.writeHead(503).end('{}'),
  resetting: (request) => void request.on('end', () => request.socket.resetAndDestroy()).resume(),
  refusing: (_request, response) => void response.writeHead(422).end('{}'),
  tooShort: (_request, response) =>
    void response.writeHead(400).end(JSON.stringify({ error: { code: 'context_length_exceeded', message: 'x' } })),
  hanging: (request) => void request.resume(),
}

describe('a model of two upstreams', () => {
  let account: TestAccount
  const servers: Record<string, Listening> = {}
  before(async () => {
    for (const [name, manner] of Object.entries(MANNERS)) servers[name] = await serve(manner)
  })
  const gateway = useGateway({ ACCOUNT_SHARE: '1' }, ({ upstreams, models }) => {
    const { sandbox } = upstreams
    const add = (id: string, modality: Modality, names: string[], more: object = {}) =>
      models.push(
        modelEntry(
          `${id}-${modality}`,
          modality,
          names.map((upstream) => ({ upstream, model: `sandbox/${modality}` })),
          more,
        ),
      )
    for (const modality of MODALITIES) {
      for (const manner of [...Object.keys(MANNERS), 'unreachable']) {
        // Unique names, so that no test opens another's circuit.
        const first = `${manner}-for-${modality}`
        upstreams[first] = { protocol: 'openai', baseUrl: servers[manner]?.origin ?? 'http://127.0.0.1:9/v1' }
        add(manner, modality, [first, 'sandbox'])
      }
    }
    upstreams.ill = { protocol: 'openai', baseUrl: servers.failing!.origin }
    add('ill', 'chat', ['ill', 'sandbox'])
    upstreams.silent = { protocol: 'openai', baseUrl: servers.hanging!.origin }
    add('silent', 'chat', ['silent', 'sandbox'], { timeoutSeconds: 3 })
    upstreams.short = { protocol: 'openai', baseUrl: servers.tooShort!.origin }
    const longer = [
      { upstream: 'short', model: 'short', contextLength: 8000 },
      { upstream: 'sandbox', model: 'gpt-sandbox', contextLength: 20_000 },
    ]
    models.push(modelEntry('longer-chat', 'chat', longer))
    upstreams.narrow = { ...sandbox, concurrency: 1 }
    for (const modality of MODALITIES) add('narrow', modality, ['narrow'])
  })
  after(() => Promise.all(Object.values(servers).map((one) => one.close())))
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })

  const call = (id: string, modality: Modality, prompt: string, more: object = {}): Promise<Reply> =>
    ask(gateway, account, { protocol: 'openai', modality }, prompt, { more: { model: `${id}-${modality}`, ...more } })

  /** How many requests an upstream of this kind got since. */
  function requestsTo(manner: string): () => number {
    const before = servers[manner]!.requests.length
    return () => servers[manner]!.requests.length - before
  }

  async function expectServed(reply: Reply): Promise<void> {
    expect(reply.status, reply.text).to.equal(200)
    expect(await recordOf(gateway.db, reply)).to.include(SERVED)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - reply.json.usage.credits)
  }

  /** Which upstream is asked next is decided for each kind in test/workers/upstreams/routing.test.ts. */
  for (const [manner, modality] of [
    ['unreachable', 'chat'],
    ['failing', 'chat'],
    ['overloaded', 'image'],
    ['overloaded', 'video'],
  ] as const)
    it(`is served by the second at once if the first is ${manner}, and charged once: ${modality}`, async () => {
      const prompt = prompted()
      const asked = manner === 'unreachable' ? () => 1 : requestsTo(manner)
      await expectServed(await call(manner, modality, prompt))
      expect(asked()).to.equal(1)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    })

  for (const [manner, modality, why] of [
    ['refusing', 'chat', 'refuses permanently'],
    ['failing', 'image', 'may have accepted it'],
    ['resetting', 'video', 'may have accepted it'],
  ] as const)
    it(`is not served by the second if the first ${why} (${manner}): ${modality}`, async () => {
      const prompt = prompted()
      const asked = requestsTo(manner)
      const reply = await call(manner, modality, prompt)
      expect(reply.status).to.equal(502)
      if (manner === 'refusing') expect(reply.json.error.message).to.match(/refused the request \(HTTP 422\)/)
      expect(asked()).to.equal(1)
      expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      await expectFailureOf(`${manner}-for-${modality}`, reply)
    })

  /** What operators see: the record names the upstream that failed, and its calls of the last hour all failed. */
  async function expectFailureOf(upstream: string, reply: Reply): Promise<void> {
    expect(await recordOf(gateway.db, reply)).to.include({ status: 'failed', upstream })
    const report = (await upstreamsOfLastHour(gateway.db)).find((one) => one.upstream === upstream)!
    expect(report.failed).to.equal(report.calls)
  }

  for (const stream of [false, true])
    it(`moves to one of a longer context where a chat is too long, ${stream ? 'streamed' : 'whole'}`, async () => {
      const prompt = prompted()
      const asked = requestsTo('tooShort')
      const reply = await call('longer', 'chat', prompt, { stream })
      expect(reply.status, reply.text).to.equal(200)
      expect(await recordOf(gateway.db, reply)).to.include(SERVED)
      expect(asked()).to.equal(1)
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    })

  describe('whose first is failing', () => {
    it('asks it last once it has failed five times in a row', async () => {
      const asked = requestsTo('failing')
      for (let calls = 1; calls <= 5; calls++) {
        expect((await call('ill', 'chat', prompted())).status).to.equal(200)
        expect(asked()).to.equal(calls)
      }
      expect(await recordOf(gateway.db, await call('ill', 'chat', prompted()))).to.include(SERVED)
      expect(asked(), 'asked though its circuit is open').to.equal(5)
      await until('the opening is noted for operators', async () =>
        (await openingsOfDay(gateway.db)).some(({ upstream, openings }) => upstream === 'ill' && openings > 0),
      )
    })

    it('asks it last once five calls have waited for it until their deadlines', async () => {
      const lost = await Promise.all(Array.from({ length: 5 }, () => call('silent', 'chat', prompted())))
      expect(lost.map(({ status }) => status)).to.deep.equal([502, 502, 502, 502, 502])
      await expectFailureOf('silent', lost[0]!)
      expect(await recordOf(gateway.db, await call('silent', 'chat', prompted()))).to.include(SERVED)
    })
  })

  describe('with a limit of requests at once', () => {
    it('counts all modalities together, but not the polls of a task', async () => {
      const prompt = prompted('[delay 60]')
      let most = 0
      const look = setInterval(() => {
        most = Math.max(most, gateway.sandbox.open(prompt).requests.filter(({ method }) => method === 'POST').length)
      }, 3)
      const replies = await Promise.all(
        MODALITIES.flatMap((modality) => [1, 2, 3].map(() => call('narrow', modality, prompt))),
      )
      clearInterval(look)
      expect(replies.map(({ status }) => status)).to.deep.equal(replies.map(() => 200))
      expect(most).to.equal(1)
    })
  })
})
