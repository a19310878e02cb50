import { expect } from 'chai'
import { Redis } from 'ioredis'
import { claudeAndGpt } from '../api/v1/support/message-models.ts'
import { useInstallation } from '../support/installed.ts'
import { inSoak, seed, report } from './scale.ts'
import { stepsOf } from './storm/steps.ts'
import { storm } from './storm/storm.ts'
import type { StormOptions } from './storm/storm.ts'

/** How many processes are killed: with an undisturbed Redis, and with one that is flushed now and then. */
const KILLS = inSoak ? { calm: 135, forgetful: 90 } : { calm: 6, forgetful: 0 }

describe('processes killed at named steps of calls, under load', () => {
  const town = useInstallation({ DATABASE_POOL: '5' }, { videoSeconds: 0.3, imageSeconds: 0.05 }, claudeAndGpt)
  let redis: Redis
  const steps = new Set<string>()
  const size = inSoak ? { webs: 2, workers: 4, clients: 16 } : { webs: 1, workers: 3, clients: 16 }

  before(async () => {
    redis = new Redis(town.config.REDIS_URL)
  })
  after(async () => {
    redis.disconnect()
  })

  async function rage(options: Pick<StormOptions, 'kills' | 'flush'>): Promise<void> {
    const figures = await storm(town.installation, town.sandbox, { ...size, ...options, seed, steps })
    report(
      `${figures.kills} processes killed, ${figures.calls} calls, ${figures.succeeded} succeeded, ` +
        `${figures.calls - figures.succeeded} refunded; seed ${seed}`,
    )
  }

  it('leave no call open or charged twice, and no client without the answer for its key', async () => {
    await rage({ kills: KILLS.calm })
  }).timeout(600_000)

  if (inSoak) {
    it('leave none either while Redis is flushed, and were killed at every step', async () => {
      await rage({
        kills: KILLS.forgetful,
        flush: async () => {
          await redis.flushdb()
        },
      })
      const all = (['web', 'worker'] as const).flatMap((kind) => stepsOf(kind).map((step) => `${kind} ${step}`))
      report(`died at ${steps.size} of ${all.length} steps`)
      expect(all.filter((step) => !steps.has(step))).to.deep.equal([])
    }).timeout(600_000)
  }
})
