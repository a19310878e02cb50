import type { CallId, PaymentId } from '../../../src/shared/platform/ids.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'

/** An account's calls (a settled one, a refunded one, one that runs, a chat), its payment and the code it redeemed. */
export type Scene = {
  account: TestAccount
  settled: CallId
  refunded: CallId
  open: CallId
  chat: CallId
  payment: PaymentId
  code: string
}

/** Something that a careless hand could do to the books, as SQL, and the invariants that must name it. */
export type Falsification = [title: string, sql: string, of: (it: Scene) => unknown[], invariants: string[]]
