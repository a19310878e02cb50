/** What all accounts together were given, for operators. */
import type { Db } from '../platform/postgres/db.ts'
import { boundedSum } from '../platform/postgres/db.ts'
import { CLOCKS_MS, firstIdAt } from '../platform/ids.ts'

/**
 * Credits. `sold`: purchases. `paid`: those of them that a payment bought; the others were granted by hand. `given`:
 * sign-up credits, bonuses, adjustments, imports. `takenBack`: for refunded money.
 */
export type GivenCredits = { sold: number; paid: number; given: number; takenBack: number }

const DAY_MS = 86_400_000

/** The credits of the last `days`. Grants of a time are an interval of their ids. */
export async function givenSince(db: Db, days: number): Promise<GivenCredits> {
  const { rows } = await db.raw<{ rows: GivenCredits[] }>(
    `
    SELECT ${boundedSum('amount', "origin = 'purchase'")} AS sold,
      ${boundedSum('amount', "origin = 'purchase' AND payment_id IS NOT NULL")} AS paid,
      ${boundedSum('amount', "origin <> 'purchase'")} AS given,
      (SELECT ${boundedSum('credits')} FROM payment_reversals
        WHERE created_at > now() - make_interval(days => :days)) AS "takenBack"
    FROM grants WHERE id > :first AND created_at > now() - make_interval(days => :days)`,
    { days, first: firstIdAt('grant', Date.now() - days * DAY_MS - CLOCKS_MS) },
  )
  return rows[0]!
}
