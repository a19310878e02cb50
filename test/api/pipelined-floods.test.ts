import { expect } from 'chai'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { build, buildIsStale } from '../../scripts/build/builder.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { ownMb } from '../../scripts/harness/memory.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { until } from '../../scripts/harness/until.ts'
import { aStoredChat } from '../support/stored-answers.ts'

const CONNECTIONS = 10
const REQUESTS = 5000
const MAX_MB = 450
const MAX_MS = 1000

/** For how long a flood is watched, in ms. Nobody reads its answers, so it has no end of its own. */
const WATCHED_MS = 2500

/** How many answers another client waits for, however slow the machine is. */
const ENOUGH = 4

/**
 * Another client, in a thread of its own. It asks for /healthz again and again, and says how long the slowest answer
 * took, in ms; but no more than the CPU time of the process's main thread meanwhile (in steps of 10 ms), as other
 * programs of the machine take time too.
 */
const OTHER_CLIENT = `
  const ENOUGH = ${ENOUGH}
  const { readFileSync } = require('node:fs')
  const { parentPort, workerData: { url, pid } } = require('node:worker_threads')
  const cpuMs = () => {
    const fields = readFileSync('/proc/' + pid + '/task/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')
    return 10 * (Number(fields[11]) + Number(fields[12]))
  }
  let goesOn = true
  parentPort.once('message', () => { goesOn = false })
  const run = async () => {
    let worst = 0
    let answers = 0
    while (goesOn) {
      const [askedAt, before] = [performance.now(), cpuMs()]
      await (await fetch(url)).text()
      worst = Math.max(worst, Math.min(performance.now() - askedAt, cpuMs() - before))
      if (++answers === 1) parentPort.postMessage('asking')
      if (answers === ENOUGH) parentPort.postMessage('enough')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    parentPort.postMessage({ worst })
  }
  run()
`

type Worst = { mb: number; ms: number }

/** Floods a port with pipelined requests whose answers nobody reads, and watches its process. */
async function flood(url: string, pid: number, request: string): Promise<Worst> {
  const { hostname, port } = new URL(url)
  const other = new Worker(OTHER_CLIENT, { eval: true, workerData: { url: `${url}/healthz`, pid } })
  await once(other, 'message')
  const enough = once(other, 'message')
  let mb = 0
  const looking = setInterval(() => {
    mb = Math.max(mb, ownMb(pid))
  }, 20)
  const sockets: Socket[] = []
  try {
    const all = Buffer.from(request.repeat(REQUESTS))
    for (let nth = 0; nth < CONNECTIONS; nth++) {
      const socket = connect(Number(port), hostname).pause()
      socket.on('error', () => {})
      socket.write(all)
      sockets.push(socket)
    }
    // The promise is about a time: what is waiting at its end has been bounded for all of it.
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS))
    await enough
    other.postMessage('stop')
    const [{ worst: ms }] = (await once(other, 'message')) as [{ worst: number }]
    return { mb, ms }
  } finally {
    clearInterval(looking)
    for (const socket of sockets) socket.destroy()
    await other.terminate()
  }
}

const headOf = (first: string, ...lines: string[]): string => [first, 'Host: x', ...lines, '', ''].join('\r\n')

describe('50,000 pipelined requests whose answers nobody reads', () => {
  let sandbox: Sandbox
  let installation: Installation
  let account: TestAccount
  let call: string
  // The promise is that of the compiled process.
  before(async function () {
    this.timeout(300_000)
    if (buildIsStale()) await build()
  })
  beforeEach(async () => {
    sandbox = await createSandbox({})
    installation = await install(sandbox, { GATEWAY_RATE_LIMIT: '60' })
    account = await anAccount(installation.db, 1000)
    call = await aStoredChat(installation.db, account, 'x')
  })
  afterEach(async () => {
    await expectBooksToBalance(installation.db)
    await installation.end()
    await sandbox.close()
  })

  const expectBounded = ({ mb, ms }: Worst): void => {
    if (process.env['SHOW']) console.log({ mb, ms })
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms until another client was answered').to.be.below(MAX_MS)
  }

  const OF_THE_WEB: Record<string, () => string> = {
    '/readyz': () => headOf('GET /readyz HTTP/1.1'),
    '/healthz': () => headOf('GET /healthz HTTP/1.1'),
    'a path that is none': () => headOf('GET /nothing HTTP/1.1'),
    'the shortest request': () => 'GET / HTTP/1.1\r\n\r\n',
    'the models': () => headOf('GET /v1/models HTTP/1.1', `Authorization: Bearer ${account.key}`),
    'a call': () => headOf(`GET ${call} HTTP/1.1`, `Authorization: Bearer ${account.key}`),
    'a result': () => headOf('GET /media/0123456789abcdef0123456789abcdef.png HTTP/1.1'),
    'a login': () =>
      headOf('POST /api/auth/login HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 2') + '{}',
    'an Expect that nobody knows': () => headOf('GET /readyz HTTP/1.1', 'Expect: banana'),
  }
  for (const [what, request] of Object.entries(OF_THE_WEB)) {
    it(`for ${what} leave a web process below 450 MB, and others are answered within a second`, async () => {
      const web = await installation.start('web')
      expectBounded(await flood(web.url, web.pid, request()))
    })
  }

  for (const path of ['/readyz', '/healthz', '/nothing']) {
    it(`for a worker's ${path} leave it below 450 MB, and others are answered within a second`, async () => {
      const port = await freePort()
      const worker: Program = await installation.start('worker', { HEALTH_PORT: String(port) })
      await until('the health port', () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok))
      expectBounded(await flood(`http://127.0.0.1:${port}`, worker.pid, headOf(`GET ${path} HTTP/1.1`)))
    })
  }
})
