import { startGateway, startTestWeb, testConfig } from '../../scripts/harness/harness.ts'
import type { Gateway, Settings, TestWeb } from '../../scripts/harness/harness.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount, TestGrant } from '../../scripts/harness/factories.ts'
import { startScripted } from '../upstreams/support/scripted.ts'
import type { Scripted } from '../upstreams/support/scripted.ts'
import { expectBooksToBalance } from './books.ts'

/** Edits the catalogue. */
type Change = Parameters<typeof startGateway>[1]

/** Starts something before the tests of a suite. Its fields are there from then on; `end` stops it after the tests. */
export function useFor<T extends object>(start: () => Promise<T>, end: (started: T) => Promise<unknown>): T {
  const started = {} as T
  before(async () => {
    Object.assign(started, await start())
  })
  after(() => end(started))
  return started
}

/** Expects every rule of the audit to hold, and stops. */
async function audited({ db, stop }: TestWeb): Promise<void> {
  try {
    await expectBooksToBalance(db)
  } finally {
    await stop()
  }
}

/**
 * The gateway of a suite. When its tests have ended, every rule of the audit must hold. What `change` needs is declared
 * before it.
 */
export const useGateway = (settings: Settings = {}, change?: Change): Gateway =>
  useFor(() => startGateway(settings, change), audited)

/** A web process of a suite without a worker and upstreams: for what calls no model. */
export const useWeb = (settings: Settings = {}, change?: Change): TestWeb =>
  useFor(async () => startTestWeb(await testConfig('http://127.0.0.1:9', settings, change)), audited)

/** Another web process of a gateway. */
export const useSecondWeb = (gateway: Gateway): TestWeb =>
  useFor(
    () => startTestWeb(gateway.config),
    ({ stop }) => stop(),
  )

/** An upstream that answers as the tests of a suite say. */
export const useScripted = (): Scripted => useFor(startScripted, ({ close }) => close())

/** An account of its own for each test of a suite, with these grants. */
export function useAccount(gateway: Pick<Gateway, 'db'>, wanted: TestGrant[] | number = []): TestAccount {
  const account = {} as TestAccount
  beforeEach(async () => {
    Object.assign(account, await anAccount(gateway.db, wanted))
  })
  return account
}
