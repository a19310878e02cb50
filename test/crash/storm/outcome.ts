import { expect } from 'chai'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Installation } from '../../../scripts/harness/installation.ts'
import type { Sent } from './requests.ts'

/** How many answers are fetched again: one account may fetch 600 a minute (docs/api.md#limits). */
const FETCHED_AGAIN = 500

/**
 * How often the upstream billed each request. One report is read for all, unless it lacks some: the sandbox looks
 * through everything for each prompt that it is asked about.
 */
function billsOf(sandbox: Sandbox, sent: readonly Sent[]): (prompt: string) => number {
  const { total, entries } = sandbox.billed('storm ')
  if (entries.length < total) return (prompt) => sandbox.billed(prompt).total
  const bills = new Map(sent.map(({ prompt }) => [prompt, 0]))
  for (const entry of entries) {
    // Words that steer the sandbox follow those that name the request.
    const prompt = entry.prompt.split(' ', 2).join(' ')
    bills.set(prompt, (bills.get(prompt) ?? 0) + 1)
  }
  return (prompt) => bills.get(prompt)!
}

/** One key is one call, an answer that is stored can be fetched, and only chats were asked for more than once. */
export async function checkOutcome(
  town: Installation,
  url: string,
  account: TestAccount,
  sandbox: Sandbox,
  sent: readonly Sent[],
): Promise<void> {
  const rows = await town
    .db('calls')
    .where({ account_id: account.id })
    .whereNot({ status: 'rejected' })
    .select<{ id: CallId; idempotency_key: string | null; status: string }[]>('id', 'idempotency_key', 'status')
  const keyed = rows.flatMap(({ idempotency_key }) => idempotency_key ?? [])
  expect(new Set(keyed).size, 'one key, one call').to.equal(keyed.length)
  const byKey = new Map(rows.map((row) => [row.idempotency_key, row]))
  const billedOf = billsOf(sandbox, sent)
  let fetched = 0
  for (const { prompt, key, mayBeSent, isNotStored, reply } of sent) {
    const billed = billedOf(prompt)
    expect(billed, `${prompt}: billed by the upstream`).to.be.at.most(mayBeSent)
    // A call that was in two workers when they were killed is not given to a third.
    const isGivenUp = reply?.status === 500 && reply.text.includes('Two workers failed while they had this call')
    if (!isGivenUp)
      expect(reply?.status, `${prompt}: ${reply?.text}`).to.be.oneOf([
        200,
        502,
        503,
        529,
        ...(isNotStored ? [410] : []),
      ])
    const row = byKey.get(key)
    if (reply?.status !== 200 || !row) continue
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
