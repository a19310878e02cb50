import { expect } from 'chai'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Installed } from '../../support/installed.ts'
import type { Sent } from './requests.ts'

/** How many answers are fetched again: one account may fetch 600 a minute (docs/api/limits.md). */
const FETCHED_AGAIN = 250

type Row = { id: CallId; idempotency_key: string | null; status: string; deleted_at: Date | null }

/** Nothing is kept of a video that was deleted, its file neither once a reconciler has looked. */
async function checkDeleted(town: Installed, account: TestAccount): Promise<void> {
  const deleted = () => town.db('calls as c').where('c.account_id', account.id).whereNotNull('c.deleted_at')
  const kept = await deleted().join('call_results as r', 'r.call_id', 'c.id').select('c.id')
  expect(kept, 'results of deleted videos').to.deep.equal([])
  await until('the files of deleted videos are removed', async () => {
    return (await deleted().whereNotNull('c.result_url').select('c.id')).length === 0
  })
}

/**
 * One key is one call, an answer that is stored can be fetched, only chats were asked for more than once, and no file
 * of a form is left.
 */
export async function checkOutcome(
  town: Installed,
  url: string,
  account: TestAccount,
  sent: readonly Sent[],
): Promise<void> {
  const rows = await town
    .db('calls')
    .where({ account_id: account.id })
    .whereNot({ status: 'rejected' })
    .select<Row[]>('id', 'idempotency_key', 'status', 'deleted_at')
  const keyed = rows.flatMap(({ idempotency_key }) => idempotency_key ?? [])
  expect(new Set(keyed).size, 'one key, one call').to.equal(keyed.length)
  const byKey = new Map(rows.map((row) => [row.idempotency_key, row]))
  await checkDeleted(town, account)
  await until('the files of forms are removed', async () => (await town.db('uploads').first('call_id')) === undefined)
  let fetched = 0
  for (const { prompt, key, mayBeSent, isNotStored, isDeleted, reply } of sent) {
    const billed = town.sandbox.billed(prompt).total
    expect(billed, `${prompt}: billed by the upstream`).to.be.at.most(mayBeSent)
    // A call that was in two workers when they were killed is not given to a third.
    const isGivenUp = reply?.status === 500 && reply.text.includes('Two workers failed while they had this call')
    const statuses = [200, 502, 503, 529, ...(isNotStored || isDeleted ? [410] : [])]
    if (!isGivenUp) expect(reply?.status, `${prompt}: ${reply?.text}`).to.be.oneOf(statuses)
    const row = byKey.get(key)
    if (reply?.status !== 200 || !row) continue
    if (isDeleted) {
      expect(row.deleted_at, `${prompt}: was deleted`).to.not.equal(null)
      if (row.status === 'succeeded') expect(billed, `${prompt}: paid, so it was sent`).to.equal(1)
      continue
    }
    const isStream = /^(data|event)?:/.test(reply.text)
    if (!isStream && fetched++ < FETCHED_AGAIN) {
      const { status, text } = await get(`${url}/v1/calls/${publicId('call', row.id)}`, account.key)
      if (isNotStored) expect(status, `${prompt}: is not stored`).to.equal(410)
      else expect(reply.text, `${prompt}: what was answered can be fetched`).to.equal(text)
    }
    expect(row.status, `${prompt}: what was answered 200 has succeeded, or failed in its stream`).to.be.oneOf(
      isStream ? ['succeeded', 'failed'] : ['succeeded'],
    )
    if (row.status === 'succeeded') expect(billed, `${prompt}: succeeded, so it was made`).to.be.at.least(1)
  }
}
