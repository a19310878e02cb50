import { expect } from 'chai'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { until } from '../../scripts/harness/until.ts'
import { aStoredChat } from '../support/stored-answers.ts'
import { watched } from '../support/watched.ts'
import type { Watched } from '../support/watched.ts'
import { useInstallation } from '../support/installed.ts'

const CONNECTIONS = 10
const REQUESTS = 5000
const MAX_MB = 450
const MAX_MS = 1000

/** For how long a flood is watched, in ms. Nobody reads its answers, so it has no end of its own. */
const WATCHED_MS = 1000

/** Floods a port with pipelined requests whose answers nobody reads, and watches its process. */
async function flood(process: { url: string; pid: number }, request: string): Promise<Watched> {
  const { hostname, port } = new URL(process.url)
  const all = Buffer.from(request.repeat(REQUESTS))
  const sockets: Socket[] = []
  try {
    return await watched(process, async () => {
      for (let nth = 0; nth < CONNECTIONS; nth++) {
        const socket = connect(Number(port), hostname).pause()
        socket.on('error', () => {})
        socket.write(all)
        sockets.push(socket)
      }
      // The promise is about a time: what is waiting at its end has been bounded for all of it.
      await pause(WATCHED_MS)
    })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

const headOf = (first: string, ...lines: string[]): string => [first, 'Host: x', ...lines, '', ''].join('\r\n')

describe('50,000 pipelined requests whose answers nobody reads', () => {
  const own = useInstallation({ GATEWAY_RATE_LIMIT: '60' })
  let web: Program
  let worker: { url: string; pid: number }
  before(async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const [first, { pid }] = await Promise.all([own.start('web'), own.start('worker', { HEALTH_PORT: String(port) })])
    await until('the health port', () => fetch(`${url}/healthz`).then(({ ok }) => ok))
    ;[web, worker] = [first, { url, pid }]
  })

  const expectBounded = ({ mb, ms }: Watched): void => {
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms until another client was answered').to.be.below(MAX_MS)
  }

  const OF_THE_WEB: Record<string, (key: string, call: string) => string> = {
    'a call': (key, call) => headOf(`GET ${call} HTTP/1.1`, `Authorization: Bearer ${key}`),
    'a login': () =>
      headOf('POST /api/auth/login HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 2') + '{}',
    'an Expect that nobody knows': () => headOf('GET /readyz HTTP/1.1', 'Expect: banana'),
  }
  for (const [what, request] of Object.entries(OF_THE_WEB)) {
    it(`for ${what} leave a web process below 450 MB, and others are answered within a second`, async () => {
      const account = await anAccount(own.db, 1000)
      const call = await aStoredChat(own.db, account, 'x')
      expectBounded(await flood(web, request(account.key, call)))
    })
  }

  it('for the /readyz of a worker leave it below 450 MB, and others are answered within a second', async () => {
    expectBounded(await flood(worker, headOf('GET /readyz HTTP/1.1')))
  })
})
