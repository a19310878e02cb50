/**
 * An image or video call as server-sent events: `queued`, `running`, `progress`, then `result` or `error`.
 */
import { publicId } from '../../../shared/platform/ids.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { AnswerDeps } from './answer-call.ts'
import { acceptedBody, endWhenDone, handleDisconnect } from './answer-call.ts'
import { withBody } from './answer-body.ts'
import type { EventStream } from './event-stream.ts'
import { beginEventStream } from './event-stream.ts'
import type { UpdateListener } from './call-updates.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'

/** Whether the client asked for events. */
export const wantsEvents = (ctx: CallContext): boolean => /\btext\/event-stream\b/i.test(ctx.get('accept'))

/** Answers with events until the call has ended. A client that disconnects does not end its call. */
export function answerWithEvents(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  updates: UpdateListener,
): void {
  const events = beginEventStream(ctx, deps.responseMemory.hold(ctx))
  const id = publicId('call', placed.callId)
  events.send(JSON.stringify({ id, status: 'queued' }), 'queued')
  updates.attach((one) => sendUpdate(events, id, one))
  endWhenDone(ctx, deps, placed, async (answer) => {
    const later = () => events.send(JSON.stringify(acceptedBody(placed)), 'running')
    if (answer)
      // One that cannot be read now can be fetched later.
      await withBody(deps, answer, (body) => events.send(body, answer.status === 200 ? 'result' : 'error')).catch(later)
    else if (deps.stopping.aborted) later()
    else return handleDisconnect(ctx, deps, placed)
    events.end()
  })
}

function sendUpdate(events: EventStream, id: string, update: CallUpdate): void {
  if (update.type === 'running') events.send(JSON.stringify({ id, status: 'running' }), 'running')
  if (update.type === 'progress') events.send(JSON.stringify({ id, progress: update.progress }), 'progress')
}
