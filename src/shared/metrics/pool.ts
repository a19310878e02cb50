/** Metrics of the connection pool to Postgres. */
import type { Registry } from 'prom-client'
import type { Db } from '../platform/postgres/db.ts'
import { only, showGauge } from './gauges.ts'

/** The part of knex' pool (tarn) that reports its state. */
type Pool = { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number; max: number }

/** Shows the pool of this process. */
export function measurePool(registry: Registry, db: Db): void {
  const { pool } = db.client as { pool: Pool }
  showGauge(
    registry,
    { name: 'db_connections', help: 'Connections to Postgres, used and free.', labelNames: ['state'] },
    () => [
      { labels: { state: 'used' }, value: pool.numUsed() },
      { labels: { state: 'free' }, value: pool.numFree() },
    ],
  )
  showGauge(registry, { name: 'db_connections_max', help: 'Connections to Postgres that this process may open.' }, () =>
    only(pool.max),
  )
  showGauge(registry, { name: 'db_waiting', help: 'Statements that wait for a connection.' }, () =>
    only(pool.numPendingAcquires()),
  )
}
