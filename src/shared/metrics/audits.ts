/**
 * What the last audit of the books found, where every process can read it: a worker audits, operators ask a web process.
 * Redis may forget it, which only means that none is known.
 */
import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { only, sharedReading, showGauge } from './gauges.ts'

const auditNews = z.object({ at: z.int(), breaches: z.int(), accounts: z.int() })

/** `at` in Unix ms; `accounts` that were looked at. */
export type AuditNews = z.infer<typeof auditNews>

export type Audits = ReturnType<typeof createAudits>

/** The news of the last audit, in Redis. */
export function createAudits(redis: Redis, prefix: string) {
  const key = `${prefix}:audit`
  return {
    /** The last audit; null where none is known. */
    async last(): Promise<AuditNews | null> {
      const text = await redis.get(key)
      return text === null ? null : auditNews.parse(JSON.parse(text))
    },
    async keep(news: AuditNews): Promise<void> {
      await redis.set(key, JSON.stringify(news))
    },
  }
}

/** Shows the last audit. */
export function measureAudits(registry: Registry, audits: Pick<Audits, 'last'>): void {
  const last = sharedReading(() => audits.last())
  showGauge(registry, {
    name: 'audit_breaches', help: 'Breaches of the books that the last audit found: anything but 0 is an alarm.',
  }, async () => only((await last())?.breaches))
  showGauge(registry, { name: 'audit_accounts', help: 'Accounts that the last audit looked at.' }, async () => only((await last())?.accounts))
  showGauge(registry, { name: 'audit_timestamp_seconds', help: 'When the books were last audited, in Unix time.' }, async () => {
    const news = await last()
    return only(news ? news.at / 1000 : undefined)
  })
}
