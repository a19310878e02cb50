import { expect } from 'chai'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Answer, LongAnswer } from '../../../src/shared/calls/stored-answers.ts'
import { sweepUploads } from '../../../src/shared/requests/uploads.ts'
import type { Request } from '../simulation/clients.ts'
import type { Simulation } from '../simulation/simulation.ts'
import type { ScheduleRun } from './schedule-run.ts'

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
