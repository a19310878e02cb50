/**
 * The life of a call, as data. `calls.ts` does what this table allows; no other code writes a call's status.
 *
 * ```
 *          open              begin                 settle
 *  (none) ──────► queued ──────────► running ─────────────► succeeded
 *                   │                 │   ▲ begin (again, after a crash), submitted
 *                   └──── refund ─────┴──────────────────► failed
 *  (none) ── reject ──► rejected        (refused after its key was accepted; costs nothing)
 * ```
 *
 * A **call** is one paid request; a **charge** takes its price from the caller's **grants** when it opens; a
 * **settlement** corrects that charge to the real price when it succeeds; a **refund** gives all of it back when it
 * fails; a **lease** is how long a call belongs to the run that began it; past it another run, or the **reconciler**,
 * takes the call over. The table in words: docs/architecture.md#the-verbs. Pure.
 */
import type { Modality } from './kinds.ts'
import { KINDS } from './kinds.ts'

/** The statuses of a call. The last three are ends; `rejected` was never charged. */
export const CALL_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'rejected'] as const
/** One of these statuses. */
export type CallStatus = (typeof CALL_STATUSES)[number]

/** Statuses that are not final. In one of these, the call holds its charge. */
export const OPEN_STATUSES = ['queued', 'running'] as const satisfies readonly CallStatus[]

/** Whether a call in this status has ended for good. */
export const hasEnded = (status: CallStatus): boolean => !OPEN_STATUSES.some((open) => open === status)

/** The verbs, and the only statuses that they lead from and to. `null` is a call that does not exist yet. */
export const TRANSITIONS = {
  open: { from: [null], to: 'queued' },
  reject: { from: [null], to: 'rejected' },
  begin: { from: ['queued', 'running'], to: 'running' },
  submitted: { from: ['running'], to: 'running' },
  settle: { from: ['queued', 'running'], to: 'succeeded' },
  refund: { from: ['queued', 'running'], to: 'failed' },
} as const satisfies Record<string, { from: readonly (CallStatus | null)[]; to: CallStatus }>

/** What can be done to a call. */
export type Verb = keyof typeof TRANSITIONS

/** Bytes of requests that one account may have open at once: 64 MB of files, and what asks for them. */
export const MAX_REQUEST_BYTES = 65 * 1024 * 1024

/** How long a new call may wait before the reconciler checks whether its job still exists. */
export const QUEUED_LEASE_SECONDS = 6

/**
 * How long a worker has a running call without renewing its lease. While it lasts, no other run of the call's job asks
 * an upstream or ends the call; a killed worker's call is taken over as soon as it has passed.
 */
export const RUNNING_LEASE_SECONDS = 6

/** How often workers renew the leases of their calls, in ms: two renewals may fail. */
export const RENEW_LEASES_MS = (RUNNING_LEASE_SECONDS * 1000) / 3

/** Whether something of an open call may have reached a reader. */
export const mayHaveDelivered = ({ modality, status }: { modality: Modality; status: CallStatus }): boolean =>
  KINDS[modality].isRelayed && status === 'running'

/** How long a web process has to settle a stream whose worker was lost, before the call is refunded. */
export const SETTLE_LOST_SECONDS = 5

/** How far past its deadline an unfinished call may be before any process may refund it. */
export const DEADLINE_GRACE_SECONDS = 3
