import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import { anAccount } from '../../scripts/harness/factories.ts'
import { CHAT, callOf, prompted } from '../../scripts/harness/calling.ts'
import { post } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { until } from '../../scripts/harness/until.ts'
import { useAccount, useFor, useGateway } from '../support/gateway.ts'
import { serve } from '../workers/fetching/servers.ts'
import { modelEntry } from './support/targets.ts'

type Fields = Record<string, unknown>

/**
 * What a Redis is asked from now on, a line per command. Over a socket of its own: the library fails where a command of
 * another client comes together with the answer to MONITOR.
 */
async function monitorRedis(url: string): Promise<{ lines: () => string[]; close: () => void }> {
  const { hostname, port, username, password } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  socket.write(`${password && `AUTH ${username} ${password}\r\n`}MONITOR\r\n`)
  const answers = password ? 2 : 1
  await until('MONITOR to be answered', () => text.match(/^\+OK\r$/gm)?.length === answers)
  return { lines: () => text.split('\r\n'), close: () => socket.destroy() }
}

describe('a session over a pool of keys', () => {
  const asked: { key: string; body: Fields }[] = []
  const limited = new Set<string>()

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const key = request.headers.authorization!.slice('Bearer '.length)
    let text = ''
    for await (const piece of request) text += String(piece)
    const body = JSON.parse(text) as Fields
    asked.push({ key, body })
    const status = limited.has(key) ? 429 : 200
    const choice = (part: object) => ({ choices: [{ index: 0, ...part, finish_reason: 'stop' }] })
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const isStream = body.stream === true && status === 200
    response.writeHead(status, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
      'retry-after': '30',
    })
    if (isStream) response.write(`data: ${JSON.stringify({ ...choice({ delta: { content: 'ok' } }), usage })}\n\n`)
    response.end(
      isStream
        ? 'data: [DONE]\n\n'
        : JSON.stringify({ ...choice({ message: { role: 'assistant', content: 'ok' } }), usage }),
    )
  }
  const server = useFor(
    () => serve((request, response) => void answer(request, response)),
    ({ close }) => close(),
  )
  const NAMES = ['a', 'b', 'c']
  const POOLS = ['first', 'second', 'third']
  const settings = Object.fromEntries(
    POOLS.flatMap((pool) => NAMES.map((name) => [`${pool}_${name}`.toUpperCase(), `sk-${pool}-${name}`])),
  )
  const gateway = useGateway(settings, ({ upstreams, models }) => {
    for (const pool of POOLS) {
      const keys = NAMES.map((name) => ({ name, apiKeyEnv: `${pool}_${name}`.toUpperCase() }))
      upstreams[pool] = {
        protocol: 'openai',
        baseUrl: server.origin,
        keys,
        ...(pool === 'second' && { promptCacheKey: true }),
      }
      models.push(modelEntry(pool, 'chat', [{ upstream: pool, model: 'gpt' }]))
      models.push(modelEntry(`${pool}-other`, 'chat', [{ upstream: pool, model: 'gpt-other' }]))
    }
  })
  const account = useAccount(gateway, 1_000_000)
  beforeEach(() => {
    asked.splice(0)
    limited.clear()
  })

  type Asked = { key?: string; headers?: Record<string, string>; more?: object }
  const ask = (model: string, { key = account.key, headers = {}, more = {} }: Asked = {}): Promise<Reply> =>
    post(`${gateway.url}${CHAT}`, key, { model, messages: [{ role: 'user', content: prompted() }], ...more }, headers)
  const inSession = (id: string): Asked => ({ headers: { 'X-Session-Id': id } })
  const usesOf = (replies: Reply[]) => replies.map(({ headers }) => headers.get('x-tollgate-session'))

  it('goes where it was answered last, and others take turns', async () => {
    const replies: Reply[] = []
    for (let times = 0; times < 4; times += 1) {
      replies.push(await ask('first', inSession('s')))
      await ask('first')
    }
    expect(usesOf(replies)).to.deep.equal(['new', 'hit', 'hit', 'hit'])
    expect(new Set(asked.filter((_one, at) => at % 2 === 0).map(({ key }) => key))).to.have.lengthOf(1)
    expect(new Set(asked.filter((_one, at) => at % 2 === 1).map(({ key }) => key))).to.have.lengthOf(3)
    const records = await Promise.all(replies.map((reply) => findRecord(gateway.db, callOf(reply))))
    expect(records.map((one) => one?.session)).to.deep.equal(['new', 'hit', 'hit', 'hit'])
    const plain = await ask('first')
    expect([usesOf([plain]), (await findRecord(gateway.db, callOf(plain)))?.session]).to.deep.equal([[null], null])
  })

  it('moves to the key that answers where its own cools down, stays there, and loses no call', async () => {
    const first = await ask('second', inSession('s'))
    limited.add(asked[0]!.key)
    const then = [await ask('second', inSession('s')), await ask('second', inSession('s'))]
    expect([first, ...then].map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(usesOf([first, ...then])).to.deep.equal(['new', 'moved', 'hit'])
    expect(asked.map(({ key }) => key).filter((key) => key === asked[0]!.key)).to.have.lengthOf(2)
  })

  it('asks nothing of Redis where a chat names none, nor of the states of keys', async () => {
    const redis = connectPersistent(gateway.config)
    const { REDIS_PREFIX: prefix, REDIS_URL } = gateway.config
    const monitor = await monitorRedis(REDIS_URL)
    const count = (of: string): number => monitor.lines().filter((one) => one.includes(`${prefix}:${of}`)).length
    await ask('first', inSession('seen'))
    await until('the session to be read and written', () => count('session') >= 2)
    const [before, keys] = [count('session'), count('upstream-keys')]
    for (const _ of [1, 2, 3]) expect((await ask('first')).status).to.equal(200)
    await redis.echo(`${prefix}:the end`)
    await until('all commands to be seen', () => count('the end') > 0)
    expect([count('session'), count('upstream-keys')]).to.deep.equal([before, keys])
    monitor.close()
    redis.disconnect()
  })

  it('is another one of another account, and with another model', async () => {
    const other = await anAccount(gateway.db, 1_000_000)
    const replies = [
      await ask('third', inSession('s')),
      await ask('third', { ...inSession('s'), key: other.key }),
      await ask('third-other', inSession('s')),
      await ask('third', inSession('s')),
    ]
    expect(usesOf(replies)).to.deep.equal(['new', 'new', 'new', 'hit'])
  })

  it('names how it was served before the first chunk of a stream', async () => {
    const more = { stream: true, session_id: 'streamed' }
    const replies = [await ask('third', { more }), await ask('third', { more })]
    expect(replies[1]!.text).to.include('ok')
    expect(usesOf(replies)).to.deep.equal(['new', 'hit'])
  })

  it('is sent as an HMAC to an upstream that knows prompt_cache_key, to others not at all', async () => {
    const more = { prompt_cache_key: 'my-key', session_id: 'my-session', provider: { order: ['x'] } }
    for (const model of ['second', 'third']) expect((await ask(model, { more })).status).to.equal(200)
    const [knowing, other] = asked.map(({ body }) => body)
    expect(knowing!.prompt_cache_key).to.match(/^[\w-]{43}$/)
    expect(other).to.not.have.property('prompt_cache_key')
    for (const body of [knowing, other]) {
      expect(body).to.not.have.any.keys('session_id', 'provider')
      expect(JSON.stringify(body)).to.not.include('my-')
    }
    expect((await ask('third', { more: { session_id: 5 } })).json.error).to.include({ param: 'session_id' })
    expect((await ask('third', { more: { provider: { zdr: true } } })).json.error).to.include({ param: 'provider.zdr' })
    asked.splice(0)
    await ask('second', { more: { prompt_cache_key: 'x'.repeat(300) } })
    expect(asked[0]!.body).to.not.have.property('prompt_cache_key')
  })
})
