/**
 * The result of the last audit, in Redis: a worker audits, and web processes show the result. If Redis loses it, no
 * result is shown until the next audit.
 */
import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { only, sharedReading, showGauge } from './gauges.ts'

const auditResult = z.object({ at: z.int(), breaches: z.int(), accounts: z.int() })

/** `at` in Unix ms; `accounts` that were checked. */
export type AuditResult = z.infer<typeof auditResult>

/** What `createAudits` returns. */
export type Audits = ReturnType<typeof createAudits>

/** The Redis key of the last audit's result. */
export function createAudits(redis: Redis, prefix: string) {
  const key = `${prefix}:audit`
  return {
    /** The last audit; null if none is known. */
    async last(): Promise<AuditResult | null> {
      const text = await redis.get(key)
      return text === null ? null : auditResult.parse(JSON.parse(text))
    },
    async keep(update: AuditResult): Promise<void> {
      await redis.set(key, JSON.stringify(update))
    },
  }
}

/** Shows the last audit. */
export function measureAudits(registry: Registry, audits: Pick<Audits, 'last'>): void {
  const last = sharedReading(() => audits.last())
  showGauge(
    registry,
    { name: 'audit_breaches', help: 'Breaches of the books that the last audit found: anything but 0 is an alarm.' },
    async () => only((await last())?.breaches),
  )
  showGauge(registry, { name: 'audit_accounts', help: 'Accounts that the last audit looked at.' }, async () =>
    only((await last())?.accounts),
  )
  showGauge(
    registry,
    { name: 'audit_timestamp_seconds', help: 'When the books were last audited, in Unix time.' },
    async () => {
      const update = await last()
      return only(update ? update.at / 1000 : undefined)
    },
  )
}
