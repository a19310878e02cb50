import { startGateway, startTestWeb, testConfig } from '../../scripts/harness/harness.ts'
import type { Gateway, Settings, TestWeb } from '../../scripts/harness/harness.ts'
import type { TestGrant } from '../../scripts/harness/factories.ts'
import { startScripted } from '../upstreams/support/scripted.ts'
import type { Scripted } from '../upstreams/support/scripted.ts'
import { expectBooksToBalance } from './books.ts'
import { askedOf } from './caller.ts'
import type { Asked, Caller } from './caller.ts'

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
export const useGateway = (settings: Settings = {}, change?: Change): Gateway & Asked =>
  useFor(async () => asked(await startGateway(settings, change)), audited)

const asked = <T extends TestWeb>(web: T): T & Asked => ({ ...web, ...askedOf(web) })

/** A web process of a suite without a worker and upstreams: for what calls no model. */
export const useWeb = (settings: Settings = {}, change?: Change): TestWeb & Asked =>
  useFor(async () => asked(await startTestWeb(await testConfig('http://127.0.0.1:9', settings, change))), audited)

/** Another web process with the configuration of one. */
export const useSecondWeb = (gateway: Pick<Gateway, 'config'>): TestWeb =>
  useFor(
    () => startTestWeb(gateway.config),
    ({ stop }) => stop(),
  )

/** An upstream that answers as the tests of a suite say. */
export const useScripted = (): Scripted => useFor(startScripted, ({ close }) => close())

/** An account of its own for each test of a suite, with these grants. */
export function useAccount(gateway: Pick<TestWeb, 'db'> & { url?: string }, wanted: TestGrant[] | number = []): Caller {
  const account = {} as Caller
  beforeEach(async () => {
    Object.assign(account, await askedOf(gateway as TestWeb).account(wanted))
  })
  return account
}

/** One account for all tests of a suite. */
export function useOneAccount(gateway: TestWeb & Asked, wanted: TestGrant[] | number = []): Caller {
  return useFor(
    () => gateway.account(wanted),
    () => Promise.resolve(),
  )
}
