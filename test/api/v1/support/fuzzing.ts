import { expect } from 'chai'
import fc from 'fast-check'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../../scripts/harness/harness.ts'
import { get } from '../../../../scripts/harness/http.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { outstandingOf } from '../../../shared/calls/opening.ts'
import { expectBooksToBalance } from '../../../support/books.ts'
import type { Answered, Judge } from './floods.ts'
import { UncaughtFaults, sendAll } from './floods.ts'
import type { Sending } from './random-requests.ts'

const REQUESTS = 3000

/** Far more than thousands of requests can cost. */
const FUNDS = 100_000_000_000

/**
 * The statuses that a request of another API can get, whatever is wrong with it or whatever its upstream thinks of it.
 */
export const OF_DIALECTS: ReadonlySet<number> = new Set([
  200, 202, 400, 401, 402, 404, 405, 409, 410, 413, 415, 417, 422, 429, 502,
])

/** Whether a request of another API is to be sent again: see `Judge`. */
export const isPutOffInDialect = ({ status, retryAfter }: Answered): boolean =>
  status === 503 && /^\d+$/.test(retryAfter ?? '')

/** What is sent, and how its answers are judged. `statuses`: each is answered often, or the test would prove little. */
type Fuzzing = Pick<Judge, 'isPutOff' | 'check'> & {
  start: () => Promise<Gateway>
  sending: fc.Arbitrary<Sending>
  statuses: readonly number[]
}

/** Declares the test of thousands of random requests: each has its answer, and nothing else comes of them. */
export function fuzz(what: string, { start, sending, statuses: expected, ...judge }: Fuzzing): void {
  describe(`thousands of random ${what}`, () => {
    let gateway: Gateway
    let account: TestAccount
    const faults = new UncaughtFaults()
    before(async () => {
      gateway = await start()
      account = await anAccount(gateway.db, FUNDS)
      faults.start()
    })
    after(async () => {
      faults.stop()
      await gateway.stop()
    })

    it('are answered with their fault, and leave the books balanced and the process serving', async () => {
      const seed = Date.now() % 2 ** 31
      const sendings = fc.sample(sending, { numRuns: REQUESTS, seed })
      const statuses = await sendAll(gateway.url, account, sendings, { seed, ...judge })
      for (const status of expected)
        expect(statuses.get(status) ?? 0, `answers of ${status} in ${JSON.stringify([...statuses])}`).to.be.above(10)
      await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
      await expectBooksToBalance(gateway.db)
      expect(faults.seen).to.deep.equal([])
      expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
      // Every request is answered by a real gateway.
    }).timeout(60_000 + 30 * REQUESTS)
  })
}
