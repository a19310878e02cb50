/**
 * The failpoints of calls and payments: events at each durable step, on one `node:diagnostics_channel`, for tracing and
 * for crash tests: a subscriber is called synchronously, exactly at the place that the failpoint names. Without a
 * subscriber a failpoint costs about a nanosecond. Messages carry ids only, never what a caller sent.
 */
import { channel } from 'node:diagnostics_channel'

/** The channel's name; its messages are `Failpoint`s. */
export const FAILPOINT_CHANNEL = 'tollgate:failpoint'

/** Every failpoint and its exact place. What ends in -ing is before the effect, what ends in -ed after it. */
export const FAILPOINTS = {
  'call.opening': 'web: before the charge is sent to Postgres',
  'call.opened': 'web: the charge is committed',
  'call.enqueuing': 'web, reconciler: before the job is sent to Redis',
  'call.enqueued': 'web, reconciler: Redis has the job',
  'call.deleted': 'web: the deletion of a video is committed, what it costs not yet',
  'call.answering': 'web: the answer is known and not yet sent',
  'call.beginning': 'worker: the job is taken, the call not yet',
  'call.begun': 'worker: the call is taken; of a chat, its upstream may have been asked meanwhile',
  'upstream.sending': 'worker: before a chat, a picture or a task is asked for',
  'upstream.answered': 'worker: the upstream has answered that request',
  'upstream.streaming': 'worker: a chunk of a chat stream has come in',
  'task.persisting': "worker: before the upstream's task is written to the call's row",
  'task.persisted': 'worker: the task is in the row',
  'task.polling': 'worker: before the upstream is asked how the task stands',
  'task.polled': 'worker: it has reported that',
  'task.cancelled': "worker: a deleted video's upstream was asked to stop, the call not settled",
  'result.keeping': 'worker: before the result is fetched and stored',
  'result.kept': 'worker: the result is stored, the call not settled',
  'call.settling': 'worker, web: before the settlement is sent to Postgres',
  'call.settled': 'worker, web: the settlement, the record and the result are committed',
  'call.refunding': 'worker, reconciler, web: before the refund is sent to Postgres',
  'call.refunded': 'worker, reconciler, web: the refund is committed',
  'call.requeuing': 'worker: before an unsent call goes back to its queue',
  'call.requeued': 'worker: the row is queued again, the job has not moved yet',
  'reply.publishing': 'worker, reconciler: before the answer is published',
  'reply.published': 'worker, reconciler: the answer is published',
  'job.finishing': "worker: all is done but the job's end in Redis",
  'payment.ordered': 'web, worker: the order is committed, the provider not asked',
  'payment.asked': 'web, worker: the provider has made a checkout or asked a card, and nobody has noted it',
  'payment.event_taken': 'worker: an event is taken, no order is checked yet',
  'payment.read': 'web, worker: the order was read at the provider',
  'payment.applying': 'web, worker: before what was read is sent to Postgres',
  'payment.credited': 'web, worker: the credits are granted, and the mail asked for',
  'payment.refunding': 'web: the credits of a refund are taken, the provider not asked',
  'payment.refunded': 'web, worker: the provider has the refund, and nobody has noted it',
  'stale.found': 'reconciler: a call whose lease has run out',
} as const

/** A place where tests can stop or end a process. */
export type FailpointName = keyof typeof FAILPOINTS

/** What a subscriber gets. `callId` is the bare UUID of the call or payment, or the id of an event. */
export type Failpoint = { name: FailpointName; callId: string }

const failpoints = channel(FAILPOINT_CHANNEL)

/** Publishes that a call or a payment has reached this failpoint. */
export function failpoint(name: FailpointName, callId: string): void {
  if (failpoints.hasSubscribers) failpoints.publish({ name, callId } satisfies Failpoint)
}
