import { expect } from 'chai'
import { Redis } from 'ioredis'
import { claudeAndGpt } from '../api/v1/support/message-models.ts'
import { useInstallation } from '../support/installed.ts'
import { inSoak, seed, report } from './scale.ts'
import { storm } from './storm/storm.ts'

const SIZE = inSoak
  ? { kills: { calm: 135, forgetful: 90 }, webs: 2, workers: 4, clients: 16 }
  : { kills: { calm: 3, forgetful: 0 }, webs: 1, workers: 2, clients: 16 }

describe('processes killed at named steps of calls, under load', () => {
  const town = useInstallation({ DATABASE_POOL: '5' }, { videoSeconds: 0.3, imageSeconds: 0.05 }, claudeAndGpt)

  it('leave no call open or charged twice, and no client without the answer for its key', async () => {
    const redis = new Redis(town.config.REDIS_URL)
    const { kills, missed, calls } = await storm(town, { ...SIZE, seed, flush: () => redis.flushdb() })
    redis.disconnect()
    const succeeded = calls.filter(({ status }) => status === 'succeeded').length
    const refunded = calls.length - succeeded
    report(
      `${kills} processes killed, ${calls.length} calls, ${succeeded} succeeded, ${refunded} refunded; seed ${seed}`,
    )
    if (inSoak) expect(missed, 'steps at which none was killed').to.deep.equal([])
  }).timeout(900_000)
})
