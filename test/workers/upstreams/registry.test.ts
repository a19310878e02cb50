import { expect } from 'chai'
import type { Protocol, Route } from '../../../src/shared/catalogue/catalogue.ts'
import type { ChatAdapter } from '../../../src/workers/upstreams/adapter.ts'
import {
  callerUntil,
  chatOf,
  choicesOf,
  contextOf,
  failureOf,
  promptOf,
  routeTo,
  startWorld,
} from './sandbox-upstreams.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { World } from './sandbox-upstreams.ts'

describe('the attempts of a call', () => {
  let world: World
  let chat: ChatAdapter
  const signal = new AbortController().signal
  before(async () => {
    world = await startWorld()
    chat = world.upstreams.adapterOf('openai').chat!
  })
  after(() => world.close())

  let names = 0
  /** A route with a unique name, so that other tests' failures do not count against it. */
  const sandboxRoute = (protocol: Protocol = 'openai', model = protocol === 'fal' ? 'some/video' : 'm'): Route =>
    routeTo(protocol, world.context(protocol).route.upstream.baseUrl, { model, upstream: { name: `u${(names += 1)}` } })
  const deadRoute = (): Route => routeTo('openai', 'http://127.0.0.1:1', { upstream: { name: `u${(names += 1)}` } })

  const tryChat = (routes: Route[], prompt: string, ended = signal) =>
    world.upstreams.tryRoutes({ modality: 'chat', routes }, callerUntil(ended), async (route) => ({
      model: route.model,
      result: await chat.chat(chatOf(prompt), contextOf(route, ended)),
    }))

  it('go to the next upstream if one cannot be reached', async () => {
    const { model } = await tryChat([deadRoute(), sandboxRoute('openai', 'second')], promptOf('x'))
    expect(model).to.equal('second')
  })

  it('return to the only upstream up to the limit', async () => {
    expect((await tryChat([sandboxRoute()], promptOf('[fail-times 2 503]'))).model).to.equal('m')
    const failure = await failureOf(tryChat([sandboxRoute()], promptOf('[fail-times 3 503]')))
    expect(failure).to.include({ kind: 'overloaded', status: 503 })
  })

  it('wait as long as they are asked to', async () => {
    const began = Date.now()
    expect(await failureOf(tryChat([sandboxRoute()], promptOf('[status 429 retry-after-ms 60]')))).to.include({
      kind: 'rate_limited',
    })
    expect(Date.now() - began).to.be.at.least(120)
  })

  it('end when a stream has begun, which must not contain two answers', async () => {
    const prompt = promptOf('[reset-after 2] [chunks 5 1]')
    const seen: unknown[] = []
    const failure = await failureOf(
      world.upstreams.tryRoutes(
        { modality: 'chat', routes: [sandboxRoute(), sandboxRoute()] },
        callerUntil(signal),
        async (route, begun) => {
          await chat.streamChat(chatOf(prompt), contextOf(route), (event) => {
            begun()
            seen.push(...choicesOf([event]))
          })
        },
      ),
    )
    expect(failure.kind).to.equal('unknown')
    expect(world.sandbox.billed(prompt).total).to.equal(1)
    expect(seen.length).to.be.greaterThan(0)
  })

  it('end at the signal, also between two attempts', async () => {
    const leaving = new AbortController()
    const prompt = promptOf('[status 429 retry-after 2]')
    const failure = failureOf(tryChat([sandboxRoute()], prompt, leaving.signal))
    await until('the first refusal', () => world.sandbox.journal(prompt)[0]?.status === 429)
    setImmediate(() => leaving.abort())
    expect(await failure).to.include({ kind: 'aborted' })
  })

  it('skip a failing upstream while another works, and are shown in the health', async () => {
    const [sick, well] = [deadRoute(), sandboxRoute('openai', 'well')]
    for (let at = 0; at < 5; at += 1) await tryChat([sick, well], promptOf('x'))
    const stateOf = (route: Route) =>
      world.upstreams.health().find(({ upstream }) => upstream === route.upstream.name)!.state
    expect([stateOf(sick), stateOf(well)]).to.deep.equal(['open', 'closed'])
    let tried = 0
    await world.upstreams.tryRoutes({ modality: 'chat', routes: [sick, well] }, callerUntil(signal), (route) => {
      tried += 1
      return Promise.resolve(route)
    })
    expect(tried).to.equal(1)
    expect(await failureOf(tryChat([sick], promptOf('x')))).to.include({ kind: 'not_sent' })
  })

  it('need an upstream', async () => {
    expect(await failureOf(tryChat([], promptOf('x')))).to.include({ kind: 'rate_limited' })
  })

  it('pass on at once what is not a failure of an upstream', async () => {
    const defect = new Error('a defect')
    const outcome = await world.upstreams
      .tryRoutes({ modality: 'chat', routes: [sandboxRoute(), sandboxRoute()] }, callerUntil(signal), () =>
        Promise.reject(defect),
      )
      .catch((error: unknown) => error)
    expect(outcome).to.equal(defect)
  })
})
