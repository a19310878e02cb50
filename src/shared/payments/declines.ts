/**
 * What happens when an automatic top-up fails: its owner is notified by mail and in the console, it is tried again some
 * hours later, and the third failure in a row turns it off (docs/payments.md#automatic-top-up-and-low-balance).
 */
import type { Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { MONTHLY_CAP } from '../terms/failures.ts'
import { mailOwner } from '../identity/owner-mail.ts'
import { billingOf, setTopUp } from './settings.ts'

/** After this many declines in a row automatic top-up is turned off. */
const MAX_DECLINES = 3

/** After a decline, a balance that is still too low counts as a crossing again this many hours later. */
const RETRY_HOURS = 8

/** The start of this month (UTC), wherever the database is. */
export const START_OF_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"

/**
 * Counts an automatic payment. The first decline of a row sends a mail; the third turns automatic top-up off, with
 * another. The account must be locked.
 */
export async function countTopUp(trx: Trx, accountId: AccountId, failure: string | null): Promise<void> {
  const settings = trx('billing_settings').where({ account_id: accountId })
  if (failure === null) {
    const nothing = { top_up_failure: null, top_up_failed_at: null, top_up_retry_at: null }
    await settings.update({ top_up_declines: 0, ...nothing })
    return
  }
  const { declines, settings: set } = await billingOf(trx, accountId, null)
  if (set.autoTopUp === null) return
  if (declines + 1 >= MAX_DECLINES) return turnTopUpOff(trx, accountId, failure)
  await settings.update({
    top_up_declines: declines + 1,
    top_up_failure: failure,
    top_up_failed_at: trx.fn.now(),
    top_up_retry_at: trx.raw('now() + make_interval(hours => ?)', [RETRY_HOURS]),
  })
  if (declines === 0) await mailFailure(trx, accountId, 'top_up_failed', failure)
}

/** Turns automatic top-up off for a reason that is not its owner's wish, with a mail; nothing if it is off. */
export async function turnTopUpOff(trx: Trx, accountId: AccountId, failure: string): Promise<void> {
  if ((await billingOf(trx, accountId, null)).settings.autoTopUp === null) return
  await setTopUp(trx, accountId, null)
  await trx('billing_settings')
    .where({ account_id: accountId })
    .update({ top_up_failure: failure, top_up_failed_at: trx.fn.now() })
  await mailFailure(trx, accountId, 'top_up_off', failure)
}

/** Mails that the monthly cap is reached: once a month, and again once the settings have changed. */
export async function noticeCap(trx: Trx, accountId: AccountId): Promise<void> {
  const noticed = await trx('billing_settings')
    .where({ account_id: accountId })
    .whereRaw(`NOT coalesce(top_up_failure = ? AND top_up_failed_at >= ${START_OF_MONTH}, false)`, [MONTHLY_CAP])
    .update({ top_up_failure: MONTHLY_CAP, top_up_failed_at: trx.fn.now(), top_up_retry_at: null })
  if (noticed === 1) await mailFailure(trx, accountId, 'top_up_failed', MONTHLY_CAP)
}

async function mailFailure(
  trx: Trx,
  accountId: AccountId,
  kind: 'top_up_failed' | 'top_up_off',
  failure: string,
): Promise<void> {
  const { credits } = await trx('accounts').where({ id: accountId }).first<{ credits: number }>('credits')
  await mailOwner(trx, accountId, kind, { failure, credits })
}
