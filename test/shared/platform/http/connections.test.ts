import { expect } from 'chai'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { RequestListener, Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenAt } from '../../../../src/shared/platform/http/http-server.ts'
import type { ServingOptions } from '../../../../src/shared/platform/http/http-server.ts'
import { until } from '../../../../scripts/harness/until.ts'

/** What is promised of every port (docs/guarantees.md). */
const MAX_IN_WORK = 16

describe('a connection whose client pipelines', () => {
  let server: Server
  let client: Socket
  let received: string
  let serving: Socket
  let warnings: Error[]
  const noteWarning = (warning: Error): void => void warnings.push(warning)
  beforeEach(() => {
    received = ''
    warnings = []
    process.on('warning', noteWarning)
  })
  afterEach(async () => {
    client.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    process.off('warning', noteWarning)
    expect(warnings).to.deep.equal([])
  })

  async function start(request: RequestListener, options: ServingOptions = {}): Promise<void> {
    const error = (_error: Error, socket: Socket): void => void socket.end('HTTP/1.1 408 Late\r\n\r\n')
    server = await listenAt({ HOST: '127.0.0.1' }, 0, { request, error }, options)
    server.once('connection', (socket: Socket) => {
      serving = socket
    })
    client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('data', (data: Buffer) => {
      received += data.toString()
    })
    await once(client, 'connect')
  }

  const get = (nth: number): string => `GET /${nth} HTTP/1.1\r\nHost: x\r\n\r\n`
  const post = (nth: number, body: string): string =>
    `POST /${nth} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const upTo = (count: number): number[] => Array.from({ length: count }, (_one, nth) => nth)
  /** The paths that were answered, in the order of their answers. */
  const answered = (): number[] => [...received.matchAll(/<\/(\d+) \d*>/g)].map((match) => Number(match[1]))

  /** Answers that wait until they are let go, and how many have begun. */
  function holding(): { held: ServerResponse[]; begun: () => number; hold: RequestListener; letGo: () => void } {
    const held: ServerResponse[] = []
    let begun = 0
    return {
      held,
      begun: () => begun,
      hold: (_request, response) => {
        begun += 1
        held.push(response)
      },
      letGo: () => {
        for (const response of held.splice(0)) response.end(`<${response.req.url} >`)
      },
    }
  }

  it('is closed where more requests would wait than the server has room for, and others are served again', async () => {
    const { begun, hold, letGo } = holding()
    await start(hold, { maxWaiting: 40 })
    const closed = once(client, 'close')
    client.on('error', () => {})
    client.write(
      upTo(MAX_IN_WORK + 41)
        .map(get)
        .join(''),
    )
    await closed
    expect(begun()).to.equal(MAX_IN_WORK)
    letGo()
    const other = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(other, 'connect')
    let answers = ''
    other.on('data', (data: Buffer) => {
      answers += data.toString()
    })
    other.write(
      upTo(MAX_IN_WORK + 40)
        .map(get)
        .join(''),
    )
    await until('all of the other one are answered', () => {
      letGo()
      return answers.includes(`</${MAX_IN_WORK + 39} >`)
    })
    other.destroy()
  })

  it('has all of them answered, in their order, at most sixteen at a time', async () => {
    let inWork = 0
    let most = 0
    await start((request, response) => {
      most = Math.max(most, ++inWork)
      response.once('close', () => inWork--)
      // Some at once, the others later and in another order.
      const nth = Number(request.url!.slice(1))
      const answer = () => response.end(`<${request.url} >`)
      if (nth % 3 === 0) answer()
      else setTimeout(answer, nth % 5)
    })
    client.write(upTo(1000).map(get).join(''))
    await until('all answers', () => answered().length === 1000)
    expect(answered()).to.deep.equal(upTo(1000))
    expect(most).to.equal(MAX_IN_WORK)
  })

  it('loses no byte of their bodies, however they are cut', async () => {
    const text = (nth: number): string => 'x'.repeat((nth * 7919) % 50_000)
    await start((request, response) => {
      let bytes = 0
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      request.on('end', () => setTimeout(() => response.end(`<${request.url} ${bytes}>`), 2))
    })
    client.write(
      upTo(200)
        .map((nth) => post(nth, text(nth)))
        .join(''),
    )
    await until('all answers', () => answered().length === 200)
    const bytes = [...received.matchAll(/<\/\d+ (\d+)>/g)].map((match) => Number(match[1]))
    expect(bytes).to.deep.equal(upTo(200).map((nth) => text(nth).length))
  })

  // Node stops reading by itself for a body that nobody reads, and goes on at its end.
  const FLOODS: [what: string, flood: () => string][] = [
    ['without bodies', () => get(1).repeat(40_000)],
    ['with bodies that nobody reads', () => (post(1, 'x'.repeat(20_000)) + get(2).repeat(100)).repeat(60)],
    [
      'where the body of the last does not end',
      () => get(1).repeat(15) + post(2, 'x'.repeat(20_000)) + post(3, 'x'.repeat(8_000_000)),
    ],
  ]
  for (const [what, flood] of FLOODS) {
    it(`is not read while they wait for their turn, ${what}`, async () => {
      const { begun, hold, letGo } = holding()
      await start(hold)
      client.write(flood())
      await until('the first to begin', () => begun() === MAX_IN_WORK)
      // The promise is about all the time in which they wait.
      await sleep(300)
      expect(begun()).to.equal(MAX_IN_WORK)
      // Node reads 64 kB at a time.
      expect(serving.bytesRead).to.be.below(3 * 64 * 1024)
      letGo()
      await until('the next to begin', () => begun() > MAX_IN_WORK)
    })
  }

  it('does not begin those that wait once their client has gone', async () => {
    const { begun, hold, letGo } = holding()
    await start(hold)
    client.write(upTo(100).map(get).join(''))
    await until('the first to begin', () => begun() === MAX_IN_WORK)
    serving.destroy()
    letGo()
    await sleep(50)
    expect(begun()).to.equal(MAX_IN_WORK)
  })

  describe('and waits longer than a request may take to come', () => {
    const TIMES = { headersTimeout: 1000, requestTimeout: 1000, connectionsCheckingInterval: 20 }

    it('has a request answered of which a part had come when reading stopped', async () => {
      const { begun, hold, letGo } = holding()
      await start(hold, TIMES)
      const last = get(17)
      client.write(upTo(17).map(get).join('') + last.slice(0, 10))
      await until('the first to begin', () => begun() === MAX_IN_WORK)
      await sleep(1500)
      letGo()
      client.write(last.slice(10))
      await until('the last to begin', () => begun() === 18)
      letGo()
      await until('all answers', () => answered().length === 18)
      expect(answered()).to.deep.equal(upTo(18))
    })

    it('has no more time than others for what it sends slowly afterwards', async () => {
      const { begun, hold, letGo } = holding()
      await start(hold, TIMES)
      client.write(upTo(17).map(get).join('') + get(17).slice(0, 10))
      await until('the first to begin', () => begun() === MAX_IN_WORK)
      await sleep(1500)
      letGo()
      await until('the last to begin', () => begun() === 17)
      letGo()
      await until('the refusal', () => received.includes('HTTP/1.1 408'))
    })
  })

  it('is refused as ever where its first request comes too slowly', async () => {
    await start(() => {}, { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 })
    client.write('GET / HT')
    await until('the refusal', () => received.includes('HTTP/1.1 408'))
  })
})
