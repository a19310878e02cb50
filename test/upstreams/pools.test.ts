import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect } from 'chai'
import { balanceOf } from '../../scripts/harness/factories.ts'
import { CHAT, callOf, prompted, recordOf } from '../../scripts/harness/calling.ts'
import { post } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { disableKey, enableKey } from '../../src/shared/operators/upstream-keys.ts'
import { announceKeys, forgetKey, readKeyStates } from '../../src/shared/operators/key-states.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { triesOfCall } from '../../src/shared/calls/tries.ts'
import { useAccount, useFor, useGateway } from '../support/gateway.ts'
import { serve } from '../workers/fetching/servers.ts'
import { modelEntry } from './support/targets.ts'

/** What an upstream answers to a request with a key; the next in line, the last one for ever. */
type Manner = [status: number, body?: object, headers?: Record<string, string>]

const WELL: Manner = [200]
const LIMITED: Manner = [429, { message: 'slow down, Bearer sk-secret-a' }, { 'retry-after': '30' }]

describe('a pool of keys', () => {
  const manners = new Map<string, Manner[]>()
  const asked: string[] = []
  /** The upstreams of the tests, each with keys of its own names: no test meets a key that another has spoilt. */
  const POOLS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh'] as const

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const key = request.headers.authorization!.slice('Bearer '.length)
    asked.push(key)
    const line = manners.get(key) ?? []
    const [status, error = {}, headers] = (line.length > 1 ? line.shift() : line[0]) ?? WELL
    const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(status === 200 ? { choices, usage } : { error }))
    })
  }
  const server = useFor(
    () => serve(answer),
    ({ close }) => close(),
  )
  const keyOf = (pool: string, name: string): string => `sk-secret-${pool}-${name}`
  const settings = Object.fromEntries(
    POOLS.flatMap((pool) =>
      ['a', 'b'].map((name) => [`${pool.toUpperCase()}_${name.toUpperCase()}`, keyOf(pool, name)]),
    ),
  )
  const gateway = useGateway(settings, ({ upstreams, models }) => {
    for (const pool of POOLS) {
      const variable = pool.toUpperCase()
      upstreams[pool] = {
        protocol: 'openai',
        baseUrl: server.origin,
        keys: [
          { name: 'a', apiKeyEnv: `${variable}_A` },
          { name: 'b', apiKeyEnv: `${variable}_B` },
          { name: 'missing', apiKeyEnv: `${variable}_MISSING` },
        ],
      }
      models.push(modelEntry(pool, 'chat', [{ upstream: pool, model: 'gpt' }]))
      models.push(modelEntry(`${pool}-other`, 'chat', [{ upstream: pool, model: 'gpt-other' }]))
    }
  })
  const account = useAccount(gateway, 1_000_000)
  beforeEach(() => void asked.splice(0))

  const ask = (model: string): Promise<Reply> =>
    post(`${gateway.url}${CHAT}`, account.key, { model, messages: [{ role: 'user', content: prompted() }] })
  const behave = (pool: string, name: string, ...line: Manner[]) => manners.set(keyOf(pool, name), line)
  const namesOf = (pool: string): string => asked.map((key) => key.replace(`sk-secret-${pool}-`, '')).join('')

  it('serves a call with another key where one is limited, which it does not ask for this model again', async () => {
    behave('first', 'a', LIMITED)
    const replies = [await ask('first'), await ask('first'), await ask('first')]
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(namesOf('first')).to.equal('abbb')
    const tries = await triesOfCall(gateway.db, callOf(replies[0]!))
    expect(tries.map(({ key, status }) => [key, status])).to.deep.equal([
      ['a', 429],
      ['b', 200],
    ])
    expect(tries[0]!.error).to.equal('rate_limited: slow down, Bearer […]')
    const [only, ...more] = await triesOfCall(gateway.db, callOf(replies[1]!))
    expect([only!.key, only!.status, only!.error, more]).to.deep.equal(['b', 200, null, []])
    const records = await Promise.all(replies.map((reply) => recordOf(gateway.db, reply)))
    expect(new Set(records.map(({ credits }) => credits)), 'the route changes no price').to.have.lengthOf(1)
    behave('first', 'a', WELL)
    await ask('first-other')
    await ask('first-other')
    expect(namesOf('first'), 'a limit of one model is none of another').to.match(/^abbb.*a/)
  })

  it('asks a refused key for no model, and is 503 with the earliest end once all are refused', async () => {
    behave('second', 'a', [401, { message: 'bad key' }])
    behave('second', 'b', [402, { message: 'pay' }])
    for (const model of ['second', 'second-other']) {
      const reply = await ask(model)
      expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([503, 'upstream_unavailable'])
      expect(Number(reply.headers.get('retry-after'))).to.be.within(55, 60)
    }
    expect(asked).to.have.lengthOf(2)
    expect(await balanceOf(gateway.db, account.id)).to.equal(1_000_000)
  })

  it('waits for a key whose limit ends within two seconds', async () => {
    for (const name of ['a', 'b']) behave('third', name, [429, {}, { 'retry-after-ms': '600' }], WELL)
    expect((await ask('third')).status).to.equal(503)
    const begun = performance.now()
    expect((await ask('third')).status).to.equal(200)
    expect(performance.now() - begun).to.be.above(300)
    expect(asked).to.have.lengthOf(3)
  })

  it('asks no key that an operator has switched off, and asks it again once it is enabled', async () => {
    const redis = connectPersistent(gateway.config)
    const { REDIS_PREFIX: prefix } = gateway.config
    await disableKey(gateway.db, null, { upstream: 'fourth', key: 'a' })
    await announceKeys(redis, prefix)
    await until('the worker to know', async () => {
      asked.splice(0)
      for (const _ of [1, 2, 3]) await ask('fourth')
      return namesOf('fourth') === 'bbb'
    })
    await enableKey(gateway.db, null, { upstream: 'fourth', key: 'a' })
    await announceKeys(redis, prefix)
    await until('the key to be asked again', async () => (await ask('fourth')) && namesOf('fourth').includes('a'))
    redis.disconnect()
  })

  it('knows of a dead key after a restart', async () => {
    behave('fifth', 'a', [401, {}])
    behave('fifth', 'b', WELL)
    for (const _ of [1, 2]) expect((await ask('fifth')).status).to.equal(200)
    const redis = connectPersistent(gateway.config)
    await until('the state to be stored', async () =>
      [...(await readKeyStates(redis, gateway.config.REDIS_PREFIX)).keys()].includes('["fifth","a"]'),
    )
    await gateway.stopWorker()
    await gateway.startWorker()
    asked.splice(0)
    for (const _ of [1, 2, 3]) expect((await ask('fifth')).status).to.equal(200)
    expect(namesOf('fifth')).to.equal('bbb')
    behave('fifth', 'a', WELL)
    await forgetKey(redis, gateway.config.REDIS_PREFIX, { upstream: 'fifth', key: 'a' })
    await until('the key to be asked again', async () => (await ask('fifth')) && namesOf('fifth').includes('a'))
    redis.disconnect()
  })

  it('does not ask each of its keys where the upstream itself fails', async () => {
    for (const name of ['a', 'b']) behave('sixth', name, [500, {}])
    expect((await ask('sixth')).status).to.equal(502)
    expect(asked).to.have.lengthOf(2)
  })

  it('asks all keys in turns', async () => {
    for (let times = 0; times < 6; times += 1) await ask('seventh')
    expect(namesOf('seventh')).to.equal('ababab')
  })
})
