import { expect } from 'chai'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { createNameResolver } from '../../src/workers/fetching/dns-lookups.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { expectBooksToBalance } from '../support/books.ts'
import type { DnsServer } from '../support/dns-server.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import { chat, prompted } from '../../scripts/harness/calling.ts'
import { FUNDS, aFundedAccount, everyProtocol } from './support/targets.ts'

/** The most addresses that one chat may have. */
const ADDRESSES = 50

/** The one sentence about an address that failed, whatever the reason. */
const UNFETCHED = /^image_url: The image could not be fetched\. The credits .* refunded\.$/

/** By how much another account's chat may be delayed, in ms. */
const MAX_DELAY_MS = 2000

describe('names that a customer chose', function () {
  let gateway: Gateway
  let dns: DnsServer
  let worker: Awaited<ReturnType<typeof startWorker>>

  before(async () => {
    dns = await startDnsServer((name) => (name.startsWith('slow-') ? 'silent' : undefined))
    gateway = await startGateway({}, (catalogue) => {
      everyProtocol(catalogue)
      // A name, which is looked up in the thread pool for every connection.
      const byName = JSON.stringify(catalogue.upstreams).replaceAll('127.0.0.1', 'localhost')
      Object.assign(catalogue.upstreams, JSON.parse(byName))
    })
    await gateway.stopWorker()
    const resolver = createNameResolver({ servers: [dns.address], files: { hosts: new Map(), search: [], ndots: 1 } })
    worker = await startWorker(gateway.config, createLog('error', 'worker'), 500, { resolver })
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await worker.stop()
    await gateway.stop()
    await dns.close()
  })

  const pictures = (names: string[]) => [
    {
      role: 'user',
      content: names.map((name) => ({ type: 'image_url', image_url: { url: `http://${name}/x.png` } })),
    },
  ]

  it("delay other accounts' chats by at most two seconds, however many and slow they are", async () => {
    const [hostile, other] = await Promise.all([aFundedAccount(gateway), aFundedAccount(gateway)])
    const names = (call: number) => Array.from({ length: ADDRESSES }, (_one, at) => `slow-${call}-${at}.example.com`)
    const chatMs = async (): Promise<number> => {
      const startedAt = performance.now()
      const reply = await chat(gateway, other, prompted('[usage 10 10]'))
      expect(reply.status, reply.text).to.equal(200)
      return performance.now() - startedAt
    }
    const timesOfTen = async (): Promise<number[]> => {
      const times: number[] = []
      while (times.length < 10) times.push(await chatMs())
      return times
    }
    const before = await timesOfTen()
    const attacks = Array.from({ length: 4 }, (_one, call) =>
      chat(gateway, hostile, '', { messages: pictures(names(call)), max_tokens: 1 }),
    )
    await until('the first question', () => dns.questions.length > 0)
    const beside = await timesOfTen()
    for (const reply of await Promise.all(attacks)) {
      expect(reply.status, reply.text).to.equal(502)
      expect(reply.json.error.message).to.match(UNFETCHED)
    }
    const usualMs = Math.max(...before, ...(await timesOfTen()))
    expect(Math.max(...beside)).to.be.below(usualMs + MAX_DELAY_MS)
    expect(await balanceOf(gateway.db, hostile.id)).to.equal(FUNDS)
  })
})
