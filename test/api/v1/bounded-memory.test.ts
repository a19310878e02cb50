import { expect } from 'chai'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { build, buildIsStale } from '../../../scripts/build/builder.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Installation, Program } from '../../../scripts/harness/installation.ts'
import { install } from '../../../scripts/harness/installation.ts'
import { aStoredChat, neverReads, responsesWithPictures } from '../../support/stored-answers.ts'
import { ownMb } from '../../../scripts/harness/memory.ts'

const MEGABYTE = 1024 * 1024
const MAX_MB = 450
const MAX_MS = 500

/**
 * Polls /healthz without a pause, and says how long its process blocked the slowest request, in ms: the time that it
 * took, but no more than the CPU time of the process's main thread meanwhile (from /proc, in steps of 10 ms). What
 * blocks an event loop uses its CPU; what other processes take from it on a busy machine is not counted.
 */
const PROBE = `
  const { readFileSync } = require('node:fs')
  const { parentPort, workerData: { url, pid } } = require('node:worker_threads')
  let worst = 0
  parentPort.on('message', () => { parentPort.postMessage(worst); worst = 0 })
  const cpuMs = () => {
    const fields = readFileSync('/proc/' + pid + '/task/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')
    return 10 * (Number(fields[11]) + Number(fields[12]))
  }
  const probe = async () => {
    const [askedAt, cpuBefore] = [performance.now(), cpuMs()]
    await (await fetch(url)).text()
    return Math.min(performance.now() - askedAt, cpuMs() - cpuBefore)
  }
  const run = async () => {
    for (let times = 0; times < 50; times++) worst = Math.max(worst, await probe())
    parentPort.postMessage('warm')
    for (;;) {
      worst = Math.max(worst, await probe())
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  run()
`

describe('the memory of a web process', function () {
  let sandbox: Sandbox
  let installation: Installation
  let web: Program
  // The promise is that of the compiled process.
  before(async function () {
    this.timeout(300_000)
    if (buildIsStale()) await build()
  })
  beforeEach(async () => {
    sandbox = await createSandbox({})
    installation = await install(sandbox, { LOG_LEVEL: 'info' })
    web = await installation.start('web')
  })
  afterEach(async () => {
    await expectBooksToBalance(installation.db)
    await installation.end()
    await sandbox.close()
  })

  /** The longest that /healthz was blocked and the most memory while something is done. */
  async function watch(work: () => Promise<unknown>): Promise<{ mb: number; ms: number }> {
    // In a thread of its own, so that this one's work on answers does not count.
    const prober = new Worker(PROBE, { eval: true, workerData: { url: `${web.url}/healthz`, pid: web.pid } })
    const worst = async (): Promise<number> => {
      prober.postMessage('worst')
      const [ms] = (await once(prober, 'message')) as [number]
      return ms
    }
    await once(prober, 'message')
    await worst()
    let mb = 0
    const looking = setInterval(() => {
      mb = Math.max(mb, ownMb(web.pid))
    }, 20)
    await work().finally(() => clearInterval(looking))
    const ms = await worst()
    await prober.terminate()
    return { mb, ms }
  }

  it('stays under 450 MB with 16 readers of 4 MB answers and 24 that never read, and answers quickly', async () => {
    const account = await anAccount(installation.db, 1000)
    const silent = await anAccount(installation.db, 1000)
    const content = `${'a'.repeat(MEGABYTE)}${'é'.repeat(MEGABYTE / 2)}${'"\\'.repeat(MEGABYTE / 2)}`
    const path = await aStoredChat(installation.db, account, content)
    const theirs = await aStoredChat(installation.db, silent, content)
    const readers: Socket[] = []
    const { mb, ms } = await watch(async () => {
      readers.push(...(await Promise.all(Array.from({ length: 24 }, () => neverReads(web.url, theirs, silent)))))
      const replies = await Promise.all(Array.from({ length: 16 }, () => get(`${web.url}${path}`, account.key)))
      for (const { status, text } of replies) expect([status, text.length > content.length]).to.deep.equal([200, true])
    })
    for (const socket of readers) socket.destroy()
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms that /healthz was blocked').to.be.below(MAX_MS)
  })

  it('stays under 450 MB with readers that do not read the largest answers of every GET', async () => {
    const accounts = await Promise.all(Array.from({ length: 3 }, () => anAccount(installation.db, 1000)))
    const { paths } = (await get(`${web.url}/openapi.json`)).json as { paths: Record<string, { get?: object }> }
    const known = Object.keys(paths).filter((path) => paths[path]!.get)
    expect(known).to.include.members(['/v1/responses/{id}/input_items', '/v1/calls/{id}', '/api/exports/calls'])
    const readers: Socket[] = []
    const calls = await responsesWithPictures(installation.db, accounts)
    const items: string[] = []
    let last: Awaited<ReturnType<typeof get>>[] = []
    const { mb, ms } = await watch(async () => {
      for (const [at, account] of accounts.entries()) {
        const call = calls[at]!
        const { id: accountId, userId } = account
        const owner = { userId, accountId, passwordHash: 'none', userAgent: '', ip: '' }
        const { token } = (await openSession(installation.db, owner))!
        items.push(`/v1/responses/${call.replace('call_', 'resp_')}/input_items`)
        for (const pattern of known) {
          const isResponse = pattern.includes('/responses/')
          const path = pattern.replaceAll(/\{\w+\}/g, isResponse ? call.replace('call_', 'resp_') : call)
          const holder = path.startsWith('/v1') ? account : { key: token }
          const times = isResponse ? 4 : 1
          const begun = Array.from({ length: times }, () => neverReads(web.url, path, holder))
          readers.push(...(await Promise.all(begun)))
        }
      }
      // They wait for their turn behind those of their accounts.
      last = await Promise.all(accounts.map((one, at) => get(`${web.url}${items[at]!}`, one.key)))
    })
    for (const socket of readers) socket.destroy()
    for (const { status } of last) expect(status).to.be.oneOf([200, 503])
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms that /healthz was blocked').to.be.below(MAX_MS)
  })
})
