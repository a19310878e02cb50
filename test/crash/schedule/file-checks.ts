import { expect } from 'chai'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { EXPIRED } from '../../../src/shared/calls/stored-answers.ts'
import type { Answer, LongAnswer } from '../../../src/shared/calls/stored-answers.ts'
import { sweepUploads } from '../../../src/shared/requests/uploads.ts'
import type { Request } from '../simulation/clients.ts'
import type { Simulation } from '../simulation/simulation.ts'
import { piecesOf, transcriptOf } from '../simulation/sound.ts'
import type { CallRow, ScheduleRun } from './schedule-run.ts'

/** What is answered to whoever comes for sound that was delivered: it is not kept. */
export const GONE = EXPIRED

/** Speech is paid from its first byte on, and only then; and what reaches a client as whole is. */
export function checkSpeech({ simulation, requests }: ScheduleRun, request: Request, row: CallRow): void {
  const { asked, placed, received, callId } = request
  const { prompt } = asked
  const whole = piecesOf(prompt).join('')
  expect(whole.startsWith(received), `${prompt}: heard ${received}`).to.equal(true)
  if (placed?.relayed?.isWhole) expect(received, `${prompt}: looks whole`).to.equal(whole)
  const begunBy = simulation.upstream.taken.filter((one) => one.prompt === prompt && one.words !== '')
  if (row.status === 'succeeded') {
    const wasHeard = requests.some((one) => one.callId === callId && one.received !== '')
    const payer = simulation.settledBy.get(row.id)
    expect(wasHeard || begunBy.some(({ process }) => process === payer), `${prompt}: paid unheard`).to.equal(true)
    return
  }
  // What only its first run has spoken, the same run has not refunded.
  const refunder = simulation.refundedBy.get(row.id)
  const isItsOwn = refunder?.attempt === 1 && begunBy.some(({ process }) => process === refunder.process)
  expect(isItsOwn && row.attempts === 1, `${prompt}: begun, and refunded by who spoke it`).to.equal(false)
}

/** A transcript is that of the file which was sent. */
export function checkTranscript({ asked }: Request, { status }: CallRow, answer: Answer | LongAnswer): void {
  const { body } = answer as Answer
  if (status === 'succeeded') expect(body, `${asked.prompt}: heard`).to.include(`"${transcriptOf(asked.prompt)}"`)
}

/** No worker has missed the files of a call that it had. */
export function checkNotMissed({ asked }: Request, answer: Answer | LongAnswer): void {
  const about = `${asked.prompt}: its files were gone before its call had ended`
  expect(JSON.stringify(answer), about).to.not.include('The request was lost before it was sent')
}

/**
 * The files of calls that have ended are gone: those that a living worker has ended at once, those that a dead process
 * has left behind when the reconciler has looked.
 */
export async function checkUploads({ db, requests, simulation }: ScheduleRun): Promise<void> {
  const left = async () =>
    await db('uploads')
      .whereIn(
        'call_id',
        requests.map(({ callId }) => callId),
      )
      .distinct()
      .pluck<CallId[]>('call_id')
  const kept = (await left()).filter((id) => isEndedByLivingRun(simulation, id))
  expect(kept, 'calls whose worker has ended them and kept their files').to.deep.equal([])
  await sweepUploads(db)
  expect(await left(), 'calls that have ended whose files are kept').to.deep.equal([])
}

function isEndedByLivingRun({ settledBy, refundedBy }: Simulation, id: CallId): boolean {
  return (settledBy.get(id) ?? refundedBy.get(id)?.process)?.alive === true
}
