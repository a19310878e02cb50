import { expect } from 'chai'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { deleteVideo, deletedWithMedia, findVideo, listVideos } from '../../../src/shared/calls/videos.ts'
import { readState } from '../../../src/shared/reports/call-records.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { aResult, movements, opened, verbs } from './opening.ts'
import { useBooks } from '../../support/database.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { useAccount } from '../../support/gateway.ts'

const CREDITS = 10
const ROUNDS = 60

describe('videos in the database', () => {
  const db = useBooks()
  const calls = verbs(db)
  const account = useAccount({ db }, 100_000)

  const holder = () => ({ accountId: account.id, userId: account.userId })
  const video = (shape = {}): Promise<CallId> => opened(calls, account, CREDITS, { modality: 'video', measured: shape })
  const settle = (id: CallId) =>
    calls.settle(id, 'video', { ...aResult(CREDITS), resultUrl: 'http://gateway.test/media/x.mp4' })

  it('have the length and the resolution that were asked for, as decimals without an end', async () => {
    for (const [duration, seconds] of [
      [8, '8'],
      [0.3, '0.3'],
      [12.5, '12.5'],
    ] as const) {
      const id = await video({ duration, resolution: '720p' })
      const due = { seconds, resolution: '720p', progress: 0, status: 'queued' }
      expect(await findVideo(db, holder(), id)).to.include(due)
    }
    expect(await findVideo(db, holder(), await video())).to.include({ seconds: null, resolution: null })
  })

  it('have a progress that never falls, and stays where nothing is told', async () => {
    const id = await video()
    await calls.begin(id)
    const told = [40, 10, null, 60]
    for (const [nth, progress] of told.entries()) {
      await calls.submitted(id, 1, { upstream: 'sandbox', ref: {}, progress })
      expect((await findVideo(db, holder(), id))!.progress).to.equal([40, 40, 40, 60][nth])
    }
  })

  it('of one moment are on one page each, in the order of their ids', async () => {
    const ids = [await video(), await video(), await video(), await video()].toSorted()
    await db('calls').where({ account_id: account.id }).update({ created_at: db.fn.now() })
    const seen: CallId[] = []
    for (let after: CallId | null = null; ; after = seen.at(-1)!) {
      const page = (await listVideos(db, holder(), { after, limit: 1, order: 'asc' }))!
      if (page[0]) seen.push(page[0].id)
      if (page.length < 2) break
    }
    expect(seen).to.deep.equal(ids)
  })

  it('begin a page after one that was deleted meanwhile', async () => {
    const [first, second] = [await video(), await video()]
    await deleteVideo(db, holder(), second)
    const page = await listVideos(db, holder(), { after: second, limit: 5, order: 'desc' })
    expect(page!.map(({ id }) => id)).to.deep.equal([first])
  })

  it('are deleted once, whatever they are doing, and only by their account', async () => {
    const other = await anAccount(db, 1)
    const picture = await opened(calls, account, CREDITS)
    const id = await video()
    expect(await deleteVideo(db, { accountId: other.id, userId: other.userId }, id)).to.equal(null)
    expect(await deleteVideo(db, holder(), picture), 'a picture').to.equal(null)
    const both = await Promise.all([deleteVideo(db, holder(), id), deleteVideo(db, holder(), id)])
    expect(both).to.have.members(['queued', null])
    expect(await findVideo(db, holder(), id)).to.equal(null)
    expect((await calls.begin(id))!.isDeleted).to.equal(true)
  })

  it('keep no result where their deletion has waited for their end', async () => {
    const id = await video()
    await calls.begin(id)
    const both = await db.transaction(async (trx) => {
      await trx('calls').where({ id }).forUpdate().first('id')
      const end = calls.settle(id, 'video', aResult(CREDITS))
      await untilItWaits(db, '%end_calls%')
      const deletion = deleteVideo(db, holder(), id)
      await untilItWaits(db, '%UPDATE calls SET deleted_at%')
      return [end, deletion]
    })
    await Promise.all(both)
    expect(await db('call_results').where({ call_id: id })).to.deep.equal([])
  })

  it('keep no result where they are deleted at the moment of their end, and have one outcome', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await video()
      await calls.begin(id)
      const end = round % 2 === 0 ? () => settle(id) : () => calls.refund(id, gatewayError('upstream_failed'))
      const [status, ended] = await Promise.all([deleteVideo(db, holder(), id), end()])
      expect(ended, `round ${round}`).to.not.equal(null)
      expect(await db('call_results').where({ call_id: id }), `round ${round}: was ${status}`).to.deep.equal([])
      expect((await readState(db, id))?.state).to.equal('expired')
      expect(await movements(db, id, account.grants)).to.have.length(round % 2 === 0 ? 1 : 2)
    }
    const left = await deletedWithMedia(db, 10_000)
    expect(left.filter(({ resultUrls }) => resultUrls.includes('http://gateway.test/media/x.mp4'))).to.have.length(
      ROUNDS / 2,
    )
  })
})
