/** GET /v1/calls/{id}: the answer of a call, for clients that come back for it. */
import { z } from 'zod'
import { ApiError } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import type { Answer, LongAnswer } from '../../../shared/calls/stored-answers.ts'
import { isLong } from '../../../shared/calls/stored-answers.ts'
import type { CallState } from '../../../shared/reports/call-records.ts'
import { readState } from '../../../shared/reports/call-records.ts'
import type { WebDeps } from '../../deps.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { wholeNumber, pathId } from '../../endpoint/fields.ts'
import { apiKey } from '../../endpoint/auth.ts'
import { answerAccepted, unlessStopped } from './answer-call.ts'
import type { BodyDeps } from './answer-body.ts'
import { sendAnswer } from './answer-body.ts'
import {
  READ_LIMITS,
  QUOTED_ERRORS,
  accepted,
  chatResult,
  gateway,
  imagesResult,
  mediaResult,
  paidHeaders,
} from '../declared.ts'
import { sendTranscript } from '../audio/sent-transcript.ts'
import { transcriptResult } from '../audio/transcriptions.ts'
import { messageResult } from '../messages/messages.ts'
import { joinWithin } from './joined-calls.ts'

/** Longest `?wait=N`, in seconds. */
const MAX_WAIT_SECONDS = 60

type WaitDeps = Pick<WebDeps, 'replies' | 'joins' | 'stopping'>

const NO_CALL = 'There is no such call.'

/** Answers 202 while the call runs (after `?wait=N` seconds), then the same answer as to the waiting request. */
export const fetchCall = endpoint({
  ...gateway,
  method: 'get',
  path: '/v1/calls/:id',
  summary: 'Fetch the answer of a call',
  description:
    'For the holder of the key that it came with, with any key of theirs. The same status and body that a waiting ' +
    'request would have received: a chat in the API that it was asked in. ' +
    'Reads have a separate rate limit.',
  auth: apiKey,
  limits: READ_LIMITS,
  params: pathId('call', '`X-Call-Id` of the call, or the `id` of its 202.', NO_CALL),
  query: z.object({
    wait: wholeNumber(0, MAX_WAIT_SECONDS)
      .optional()
      .meta({ description: 'How many seconds to wait for the call to end.' }),
  }),
  answers: {
    200: {
      description: 'The result.',
      schema: z.union([mediaResult, imagesResult, chatResult, messageResult, transcriptResult]),
      content: { 'text/plain': z.string(), 'text/vtt': z.string() },
      headers: paidHeaders,
    },
    202: { ...accepted, description: 'The call is still running.' },
  },
  errors: ['result_expired', 'upstream_failed', ...QUOTED_ERRORS, 'overloaded'],
}).write((deps: WaitDeps & BodyDeps & Pick<WebDeps, 'db'>) => async ({ auth, params, query }, ctx) => {
  const state = await readState(deps.db, params.id, auth)
  if (!state) throw new ApiError('not_found', { message: NO_CALL })
  ctx.state.callId = state.callId
  ctx.set('X-Call-Id', publicId('call', state.callId))
  if (state.state === 'expired' || state.state === 'passing') throw new ApiError('result_expired')
  const send = state.modality === 'transcription' ? sendTranscript : sendAnswer
  if (state.state === 'ended') return send(ctx, deps, state.answer)
  if (!query.wait) return answerAccepted(ctx, state, null)
  const answer = await waitFor(deps, state, query.wait)
  if (answer && (isLong(answer) ? answer.isPassing : answer.body === '')) throw new ApiError('result_expired')
  if (answer) return send(ctx, deps, answer)
  const now = await readState(deps.db, state.callId)
  answerAccepted(ctx, now?.state === 'open' ? now : state, null)
})

/** Waits for a call to end, for a number of seconds. @returns null if it has not. @throws like `joinWithin` */
export async function waitFor(
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
    return await unlessStopped(deps.stopping, () => Promise.race([wait.answer, late]))
  } finally {
    clearTimeout(timer)
    wait.cancel()
  }
}
