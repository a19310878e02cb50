/** The invariants of what was imported from other gateways. */

/** Invariant → query of its offending rows (see `audit.ts`). */
export const OF_IMPORTS: Record<string, string> = {
  'an imported account was granted what is noted of its import, and no other was': `
    SELECT acc.id AS account_id, coalesce(o.granted, 0) AS noted, coalesce(g.granted, 0) AS granted
    FROM accounts acc
    LEFT JOIN (SELECT account_id, sum(granted)::bigint AS granted FROM import_origins GROUP BY account_id) o
      ON o.account_id = acc.id
    LEFT JOIN (SELECT account_id, sum(amount)::bigint AS granted FROM grants WHERE origin = 'import'
      GROUP BY account_id) g ON g.account_id = acc.id
    WHERE coalesce(o.granted, 0) <> coalesce(g.granted, 0)`,
}
