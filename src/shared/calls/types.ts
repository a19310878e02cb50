/** The types of the verbs: what they take and what they return. */
import type { TokenAllowance } from '../identity/account-limits.ts'
import type { AccountId, CallId, KeyId } from '../platform/ids.ts'
import type { Answer, LongAnswer } from './stored-answers.ts'
import type { Tried } from './tries.ts'
import type { Dialect } from '../chat/dialect.ts'
import type { Modality } from '../terms/kinds.ts'
import type { CallStatus } from '../terms/lifecycle.ts'
import type { CameAs } from '../terms/media-rows.ts'
import type { Measured, Price, Tokens } from '../terms/pricing.ts'
import { gatewayError } from '../platform/errors.ts'

/** What `open` needs to know. All amounts in credits, all times in whole seconds. */
export type OpenRequest = {
  id: CallId
  accountId: AccountId
  keyId: KeyId
  modality: Modality
  /** In which a chat is asked, where that is not chat completions. */
  dialect?: Dialect | undefined
  model: string
  /** The version of the catalogue that it is charged and served by. */
  catalogueVersion: number
  price: Price
  /** The group at whose price it was asked for; null or absent: none. An account that has another is not charged. */
  group?: string | null
  /** The most calls that its account may have open, where that is not the usual number. */
  maxOutstanding?: number | undefined
  /** The charge. */
  amount: number
  /** Credits of the balance and of every budget that stay free for other calls, next to the charge; 0 if absent. */
  leaves?: number | undefined
  /** Why the call must not be opened, although an earlier call may be joined: a guard of its own request. */
  guarded?: 'tokens_above_limit' | 'price_above_limit' | 'price_changed' | null
  /** The tokens the charge was estimated from (chat). */
  estimate: Tokens | null
  /** What it is priced by, where that is not its tokens. */
  measured?: Measured | undefined
  deadlineSeconds: number
  requestId: string
  /** The web process that waits. */
  replyTo: string
  idempotency: { key: string; seconds: number } | null
  /** SHA-256 of the request in hex, by which its retries are recognised; null if it has no retries. */
  requestHash: string | null
  /** Whether it is taken for a retry of an unanswered call (`sql/claim_call.sql`). */
  joinsLeft?: boolean
  /** Bytes of the request as its job carries it. */
  requestBytes: number
  /** Which of the key's secrets was sent. */
  secretVersion: number
  /** The client's address; null when it is not known. */
  address: string | null
  /** Its client asked not to wait: its end is an event for the webhooks of its account. */
  isAsync?: boolean
  /** Where its client wants to be notified of its end. */
  callbackUrl?: string | undefined
}

/** The call could be paid but for what running calls hold: of a budget, or of the balance. */
export type InUse = Extract<Refusal, `${string}_in_use`>

const REFUSALS = [
  'unauthorized',
  'ip_not_allowed',
  'account_suspended',
  'model_not_allowed',
  'group_changed',
  'tokens_above_limit',
  'price_above_limit',
  'price_changed',
  'key_budget_exceeded',
  'member_budget_exceeded',
  'insufficient_credits',
  'member_budget_in_use',
  'key_budget_in_use',
  'credits_in_use',
  'too_many_calls',
  'too_many_calls_of_key',
  'too_many_bytes',
  'too_many_tokens',
] as const

/** Why a call is refused. */
type Refusal = (typeof REFUSALS)[number]

/** Whether an outcome of `open_calls` is a refusal. */
export const isRefusal = (outcome: string): outcome is Refusal => (REFUSALS as readonly string[]).includes(outcome)

/**
 * Why a call was not opened: the refusal, the call that already existed, or the one that it is a retry of and that was
 * taken over for it. `tokens`: what is left of the tokens of a minute, as far as these are limited.
 */
export type OpenOutcome =
  | { opened: true; balance: number; outstanding: number; tokens: TokenAllowance[] }
  | { opened: false; existing: CallId }
  | { opened: false; claimed: CallId }
  | { opened: false; tokens: TokenAllowance[]; refusal: Refusal }

/** What a worker gets when it begins a call. */
export type BegunCall = {
  id: CallId
  accountId: AccountId
  model: string
  modality: Modality
  price: Price
  /** What its opening took, in credits. */
  charged: number
  estimate: Tokens
  /** What its task costs at its upstream, in micro-dollars; null until one is submitted, or where that is unknown. */
  costMicroUsd: number | null
  /** Counts from 1; the fence of `refund` and `submitted`. */
  attempt: number
  /** An earlier attempt may have sent its request, whose outcome is unknown. */
  resumed: boolean
  upstream: string | null
  /** The key that has its task, by its name. */
  upstreamKey: string | null
  upstreamRef: UpstreamRef | null
  /** Its owner has deleted it: nobody wants its result (video). */
  isDeleted: boolean
  replyTo: string
  /** The name of the run that has begun it. */
  run: string
  /** When this or an earlier attempt began: before anything was sent to an upstream. */
  startedAt: Date
  /** Milliseconds from its opening to that. */
  waitedMs: number
  /** Milliseconds until the deadline, by the database's clock; negative beyond it. */
  remainingMs: number
}

/** What a worker knows of a task: who has it, what it costs there in micro-dollars (null: unknown), how far it is. */
export type KnownTask = {
  upstream: string
  /** The key that has made it: only that one knows it. */
  upstreamKey?: string | null
  ref: UpstreamRef
  costMicroUsd?: number | null
  /** In percent; null or absent if its upstream does not report it. */
  progress?: number | null
}

/** An upstream's own task: JSON that its adapter wrote and can go on from. */
export type UpstreamRef = Record<string, unknown>

/** A call that this verb ended, and the answer that everybody gets. One that is read later may have a long answer. */
export type Ended<A extends Answer | LongAnswer = Answer> = {
  callId: CallId
  accountId: AccountId
  replyTo: string
  status: CallStatus
  balance: number
  answer: A
}

/** What a successful call produced, whose answer is stored. */
export type StoredSettlement = Settlement & { passingBytes?: undefined }

/** What a successful call produced. */
export type Settlement = Tried & {
  /** The real cost in credits. */
  cost: number
  tokens: Tokens | null
  /** What it cost at its upstreams, in micro-dollars; null if that is unknown. */
  costMicroUsd: number | null
  /** Null where it is not known. */
  upstream: string | null
  resultUrl: string | null
  /** Of an image call: how many pictures were delivered, as what, and the addresses of all but the first. */
  pictures?: number
  came?: CameAs
  moreResultUrls?: readonly string[]
  /** The stored body, as `src/shared/calls/stored-answers.ts` makes it; empty if it is not stored. */
  output: string
  /** The bytes of a body that is not stored, but on its way (`passing-answers.ts`). */
  passingBytes?: number
}

/** Which open calls a refund may end (no other call is changed), and what is known of the call. */
export type RefundGuard = Tried & {
  /** What its tries have cost, in micro-dollars; null or absent: unknown. */
  costMicroUsd?: number | null
  /** The upstream that failed it; null or absent: as its row has it. */
  upstream?: string | null
  /**
   * Only while no later attempt has begun it: a frozen worker must not refund what another is about to finish. 0: only
   * if no run has begun it, so that no upstream has it.
   */
  attempt?: number
  /** Only past its deadline. */
  overdue?: boolean
  /** The reconciler has found it: operators are notified, in the same transaction. */
  reconciled?: boolean
}

/** An open call whose lease has run out. */
export type StaleCall = {
  id: CallId
  accountId: AccountId
  modality: Modality
  model: string
  catalogueVersion: number
  status: 'queued' | 'running'
  attempt: number
  /** X-Request-Id of the request that opened it. */
  requestId: string
  /** The web process that opened it. */
  replyTo: string
  /** The upstream has its task. */
  submitted: boolean
  /** Its deadline and the grace after it have passed. */
  overdue: boolean
}

/**
 * The end of a call that was cancelled, or whose client disconnected, before it was sent to an upstream. It is
 * refunded.
 */
export const CANCELLED_UNSENT = gatewayError(
  'upstream_failed',
  'The call was cancelled before it was sent to an upstream. The credits charged for this call were refunded.',
)
