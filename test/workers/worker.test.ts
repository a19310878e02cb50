import { testConfig } from '../../scripts/harness/harness.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { startWorker } from '../../src/workers/worker.ts'

describe('a worker that is stopped while Redis is away', () => {
  it('ends once its time to drain has passed', async function () {
    // A queue that closes waits forever for a connection that is about to be made again.
    this.timeout(20_000)
    const redis = await startPrivateRedis()
    const config = await testConfig('http://127.0.0.1:9', { REDIS_URL: redis.url })
    const worker = await startWorker(config, createLog('silent', 'worker'), 100)
    await redis.kill()
    await worker.stop()
  })
})
