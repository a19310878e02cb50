/** The sessions of chats in their runs (docs/upstreams/keys.md#sessions). */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import { isText } from '../../shared/platform/fields.ts'
import { servedAt } from '../../shared/calls/tries.ts'
import { callOfResponse } from '../../shared/chat/responses/response.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Pin } from './pins.ts'
import type { Run } from './run-call.ts'

/** The session of a run. `pin`: where it was answered last. `servedBy`: an answer of this route has begun. */
export type RunSession = { pin: Pin | null; servedBy: (route: Route) => void }

/** Where the response was made that this one continues; null if it continues none, or that is not known. */
export async function madeBefore({ db }: Pick<WorkerDeps, 'db'>, { job }: Run): Promise<Pin | null> {
  const { previous_response_id: previous } = job.request as ChatRequest
  const id = isText(previous) ? callOfResponse(previous) : null
  if (id === null) return null
  // Whose it is was checked before the charge.
  return servedAt(db, id)
}

/** The session of a run; null for a call that names none, which asks nothing of Redis. */
export async function beginSession(
  { pins, publisher }: Pick<WorkerDeps, 'pins' | 'publisher'>,
  run: Run,
): Promise<RunSession | null> {
  const { call, job } = run
  const { session } = job
  if (!session) return null
  const pin = await pins.read(session)
  const servedBy = ({ upstream }: Route): void => {
    if (run.session) return
    const isHit = pin?.upstream === upstream.name && pin.key === upstream.key
    run.session = isHit ? 'hit' : pin ? 'moved' : 'new'
    pins.write(session, { upstream: upstream.name, key: upstream.key })
    publisher.update(call.replyTo, call.id, { type: 'session', session: run.session }).catch(reportDefect)
  }
  return { pin, servedBy }
}
