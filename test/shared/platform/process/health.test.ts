import { expect } from 'chai'
import { connectTestDb } from '../../../../scripts/harness/database.ts'
import { connectProducer } from '../../../../src/shared/platform/redis/redis.ts'
import { readServices } from '../../../../src/shared/platform/process/health.ts'
import { missingSchema } from '../../../../migrations/index.ts'
import { SchemaGate } from '../../../../src/shared/platform/postgres/schema.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { useWeb } from '../../../support/gateway.ts'

describe('the readiness of a process', () => {
  const web = useWeb()

  it('asks for a write once a second, however many ask', async () => {
    const db = connectTestDb({ ...web.config, DATABASE_POOL: 4 })
    const redis = connectProducer(web.config)
    await until('Redis', () => redis.status === 'ready')
    let readings = 0
    db.on('query', ({ sql }: { sql: string }) => {
      if (sql.includes('pg_current_xact_id')) readings += 1
    })
    const read = readServices({
      db,
      redis,
      prefix: web.config.REDIS_PREFIX,
      schema: new SchemaGate(() => missingSchema(db)),
      catalogue: { version: () => 1 },
    })
    const began = performance.now()
    for (let times = 0; times < 20; times++) {
      for (const down of await Promise.all(Array.from({ length: 50 }, read))) expect(down).to.deep.equal([])
    }
    // On a machine that is busy the asking may take longer than a reading is kept.
    expect(readings).to.be.at.most(1 + Math.floor((performance.now() - began) / 1000))
    await until('the next reading', async () => {
      await read()
      return readings > 1
    })
    redis.disconnect()
    await db.destroy()
  })
})
