import { expect } from 'chai'
import type { Protocol, Route } from '../../../src/shared/catalogue/catalogue.ts'
import type { ChatAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { callerUntil, chatOf, contextOf, failureOf, promptOf, routeTo, useWorld } from './sandbox-upstreams.ts'
import { until } from '../../../scripts/harness/until.ts'

describe('the attempts of a call', () => {
  const world = useWorld()
  let chat: ChatAdapter
  const signal = new AbortController().signal
  before(() => {
    chat = world.upstreams.adapterOf('openai').chat!
  })

  let names = 0
  /** A route with a unique name, so that other tests' failures do not count against it. */
  const sandboxRoute = (protocol: Protocol = 'openai', model = protocol === 'fal' ? 'some/video' : 'm'): Route =>
    routeTo(protocol, world.context(protocol).route.upstream.baseUrl, { model, upstream: { name: `u${(names += 1)}` } })

  const tryChat = (routes: Route[], prompt: string, ended = signal) =>
    world.upstreams.tryRoutes({ modality: 'chat', routes }, callerUntil(ended), async (route) => ({
      model: route.model,
      result: await chat.chat(chatOf(prompt), contextOf(route, ended)),
    }))

  it('return to the only upstream up to the limit', async () => {
    expect((await tryChat([sandboxRoute()], promptOf('[fail-times 2 503]'))).model).to.equal('m')
    const failure = await failureOf(tryChat([sandboxRoute()], promptOf('[fail-times 3 503]')))
    expect(failure).to.include({ kind: 'overloaded', status: 503 })
  })

  it('end at the signal, also between two attempts', async () => {
    const leaving = new AbortController()
    const prompt = promptOf('[status 429 retry-after 2]')
    const failure = failureOf(tryChat([sandboxRoute()], prompt, leaving.signal))
    await until('the first refusal', () => world.sandbox.journal(prompt)[0]?.status === 429)
    setImmediate(() => leaving.abort())
    expect(await failure).to.include({ kind: 'aborted' })
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
