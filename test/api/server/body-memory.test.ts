import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { CHAT, chat, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import type { Declaration } from '../../../src/api/endpoint/declaration.ts'
import { longestBody, longestOf } from '../../../src/api/endpoint/declaration.ts'
import { LargeBodies, waitingBounds } from '../../../src/api/endpoint/large-body-queue.ts'
import { longestForm } from '../../../src/api/forms/declared-form.ts'
import { endpoints } from '../../../src/api/routes.ts'
import type { BodyBounds } from '../../../src/api/server/body-memory.ts'
import { BodyMemory, bodyBounds, formBounds } from '../../../src/api/server/body-memory.ts'
import type { Config } from '../../../src/shared/platform/config/config.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const MEGABYTE = 1_048_576

/** An incomplete request over a connection of its own. */
type Unfinished = { socket: Socket; received: () => string }

/** Begins a request with a body of so many bytes, of which only `sent` is sent for now. */
function begin(url: string, headers: string[], length: number, sent: string): Unfinished {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  socket.on('error', () => {})
  const head = ['POST ' + pathname + ' HTTP/1.1', 'Host: x', ...headers, `Content-Length: ${length}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n${sent}`)
  return { socket, received: () => text }
}

/** Waits until this process has read what it has sent itself: what the kernel still holds comes within some turns. */
async function untilRead({ socket }: Unfinished): Promise<void> {
  await until('all to be sent', () => socket.writableLength === 0)
  for (let turns = 0; turns < 1000; turns++) await setImmediate()
}

const statusOf = ({ received }: Unfinished): string | undefined => /^HTTP\/1\.1 (\d{3})/.exec(received())?.[1]

describe('the bounds of bodies', () => {
  const config = { MAX_BODY_BYTES: MEGABYTE, MAX_DIALECT_BODY_BYTES: 32 * MEGABYTE } as Config
  const longest = longestOf(endpoints, config)
  const admits = (bounds: BodyBounds, bytes: number) => bounds.slowPerSender >= bytes && bounds.perProcess >= bytes

  it('admit the longest body that each endpoint takes, however slowly it comes', () => {
    expect(longest.body, 'the longest of an agent').to.equal(config.MAX_DIALECT_BODY_BYTES)
    for (const one of endpoints as readonly Declaration[]) {
      expect(admits(bodyBounds(longest.body), longestBody(one, config)), one.path).to.equal(true)
      if (one.form) expect(admits(formBounds(longest.form), longestForm(one.form)), one.path).to.equal(true)
    }
  })

  it('let the longest body wait for its turn', async () => {
    await new LargeBodies(waitingBounds(longest.body)).turnOf('an account', longest.body)
  })
})

describe('bodies of calls that come slowly', () => {
  const gateway = useGateway({ MAX_DIALECT_BODY_BYTES: String(8 * MEGABYTE) })
  const account = useAccount(gateway, 1_000_000)
  const open: Unfinished[] = []
  afterEach(() => {
    for (const { socket } of open.splice(0)) socket.destroy()
  })

  /** Sends a body of `bytes` bytes without its last `missing`. */
  function beginChat(bytes: number, missing: number, path = CHAT): Unfinished & { rest: string } {
    const empty = JSON.stringify(chatBody('', { model: 'no-such-model' }))
    const body = JSON.stringify(chatBody('x'.repeat(bytes - empty.length), { model: 'no-such-model' }))
    const headers = ['Content-Type: application/json', `Authorization: Bearer ${account.key}`]
    const begun = begin(`${gateway.url}${path}`, headers, bytes, body.slice(0, bytes - missing))
    open.push(begun)
    return { ...begun, rest: body.slice(bytes - missing) }
  }

  it('can be as long as the longest of an agent, alone', async () => {
    const whole = beginChat(8 * MEGABYTE - 10, 1, '/v1/responses')
    await untilRead(whole)
    const beside = beginChat(MEGABYTE, 1)
    await until('the refusal of what is more than that', () => statusOf(beside) === '429')
    expect(statusOf(whole)).to.equal(undefined)
    whole.socket.write(whole.rest)
    await until('the answer that there is no such model', () => statusOf(whole) === '404')
  })

  it('are 8 MB of an account at most: more is refused with 429, and the others are served when complete', async () => {
    const slow = Array.from({ length: 10 }, () => beginChat(MEGABYTE, 1))
    await until('two refusals', () => slow.filter(statusOf).length >= 2)
    const refused = slow.filter(statusOf)
    expect(refused.map(statusOf)).to.deep.equal(['429', '429'])
    for (const { received } of refused) {
      expect(received()).to.match(/^retry-after: \d+\r$/im)
      await until('the whole answer', () => received().includes('rate_limited'))
    }
    expect((await chat(gateway, account, prompted())).status, 'a fast body beside them').to.equal(200)
    for (const { socket, rest } of slow) socket.write(rest)
    await until('all answers', () => slow.every(statusOf))
    expect(slow.filter((one) => statusOf(one) === '400').length).to.equal(8)
    // They are no longer counted.
    const next = Array.from({ length: 3 }, () => beginChat(MEGABYTE, 1))
    for (const { socket, rest } of next) socket.write(rest)
    await until('all answers', () => next.every(statusOf))
    expect(next.map(statusOf)).to.deep.equal(['400', '400', '400'])
  })

  it('do not limit an ordinary client: 20 bodies of 1 MB sent at once are all read', async () => {
    const body = JSON.stringify(chatBody('x'.repeat(MEGABYTE - 300), { model: 'no-such-model' }))
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => send('POST', `${gateway.url}${CHAT}`, { key: account.key, body })),
    )
    expect([...new Set(replies.map(({ status, json }) => `${status} ${json.error.type}`))]).to.deep.equal([
      '400 unsupported_model',
    ])
  })
})

describe('all bodies that are being read by a process', () => {
  const KILOBYTE = 1024
  let bodyMemory: BodyMemory
  let server: Server
  let refused: string[]
  const open: Unfinished[] = []
  beforeEach(async () => {
    bodyMemory = new BodyMemory({ slowPerSender: Infinity, perProcess: 1000 * KILOBYTE })
    refused = []
    server = createServer((req: IncomingMessage, res) => {
      const account = String(req.headers['x-account'])
      req.on('error', (error) => {
        if (error instanceof ApiError) refused.push(`${account} ${error.code}`)
        res.end()
      })
      req.on('data', () => {})
      const stop = bodyMemory.count(req, account as AccountId)
      req.on('close', stop)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    for (const { socket } of open.splice(0)) socket.destroy()
    server.closeAllConnections()
    server.close()
  })

  /** Sends so many kilobytes of a body, and waits until they are counted. */
  async function leave(account: string, kilobytes: number, expected: number): Promise<void> {
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/`
    open.push(begin(url, [`X-Account: ${account}`], MEGABYTE, 'x'.repeat(kilobytes * KILOBYTE)))
    await until('the count', () => bodyMemory.bytes() === expected * KILOBYTE)
  }

  it('are bounded: only the account that holds most loses its largest body', async () => {
    await leave('a', 400, 400)
    await leave('a', 200, 600)
    await leave('b', 300, 900)
    await leave('c', 250, 750)
    expect(refused).to.deep.equal(['a overloaded'])
    await leave('c', 100, 850)
    for (const { socket } of open) socket.destroy()
    await until('nothing to be counted', () => bodyMemory.bytes() === 0)
    expect(refused).to.deep.equal(['a overloaded'])
  })
})
