/**
 * GET /v1/calls/{id}: the answer of a call, for whoever comes back for it.
 */
import type { Middleware } from 'koa'
import { ApiError } from '../../shared/errors.ts'
import { parseId, publicId } from '../../shared/ids.ts'
import type { Answer, LongAnswer } from '../../shared/calls/answers.ts'
import type { CallState } from '../../shared/calls/records.ts'
import { readState } from '../../shared/calls/records.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { accepted, unlessStopped } from './answer.ts'
import type { BodyDeps } from './answer-body.ts'
import { sendAnswer } from './answer-body.ts'
import { joinWithin } from './joining.ts'

/** Longest `?wait=N`, in seconds (docs/api.md#waiting-and-coming-back). */
const MAX_WAIT_SECONDS = 60

type WaitDeps = Pick<WebDeps, 'replies' | 'joins' | 'stopping'>

/** Answers 202 while the call runs (after `?wait=N` seconds), then the very answer of the waiting request. */
export function fetchCall(deps: WaitDeps & BodyDeps & Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const waitSeconds = waitOf(ctx.query.wait)
    const id = parseId('call', (ctx as unknown as { params: { id: string } }).params.id)
    const state = id && (await readState(deps.db, id))
    if (!state || state.accountId !== ctx.state.principal!.accountId)
      throw new ApiError('not_found', { message: 'There is no such call.' })
    ctx.state.callId = state.callId
    ctx.set('X-Call-Id', publicId('call', state.callId))
    if (state.state === 'expired') throw new ApiError('result_expired')
    if (state.state === 'ended') return sendAnswer(ctx, deps, state.answer)
    if (waitSeconds === 0) return accepted(ctx, state, null)
    const answer = await waitFor(deps, state, waitSeconds)
    if (answer) return sendAnswer(ctx, deps, answer)
    const now = await readState(deps.db, state.callId)
    accepted(ctx, now?.state === 'open' ? now : state, null)
  }
}

function waitOf(text: string | string[] | undefined): number {
  if (text === undefined) return 0
  const seconds = typeof text === 'string' && /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds <= MAX_WAIT_SECONDS))
    throw new ApiError('invalid_request', {
      param: 'wait',
      message: `wait must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}.`,
    })
  return seconds
}

async function waitFor(
  deps: WaitDeps,
  call: CallState & { state: 'open' },
  seconds: number,
): Promise<Answer | LongAnswer | null> {
  const wait = await joinWithin(deps, call)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), seconds * 1000)
  })
  try {
    return await unlessStopped(deps.stopping, Promise.race([wait.answer, late]))
  } finally {
    clearTimeout(timer)
    wait.cancel()
  }
}
