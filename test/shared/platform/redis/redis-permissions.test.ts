import { expect } from 'chai'
import { Redis } from 'ioredis'
import { startPrivateRedis } from '../../../../scripts/harness/services.ts'
import type { PrivateRedis } from '../../../../scripts/services/redis.ts'
import { ConfigError } from '../../../../src/shared/platform/config/config.ts'
import { checkRedis } from '../../../../src/shared/platform/process/start-up.ts'

describe('a user of Redis', () => {
  let server: PrivateRedis
  let operator: Redis
  before(async () => {
    server = await startPrivateRedis()
    operator = new Redis(server.url)
  })
  after(async () => {
    operator.disconnect()
    await server.stop()
  })

  let users = 0
  const look = async (rules: string[]) => {
    const name = `user${++users}`
    await operator.acl('SETUSER', name, 'on', '>secret', ...rules)
    return checkRedis({
      REDIS_URL: `redis://${name}:secret@127.0.0.1:${server.port}`,
      REDIS_TLS_VERIFY: 'on',
      REDIS_PREFIX: 'tollgate',
    })
  }
  const own = ['~tollgate:*', '&tollgate:*']

  it('may be kept to the keys and channels of REDIS_PREFIX, and from what endangers others but INFO', async () => {
    expect(await look([...own, '+@all'])).to.include({ policy: 'noeviction' })
    expect(await look([...own, '+@all', '-@dangerous', '+info'])).to.include({ policy: null })
    expect(await operator.keys('*'), 'nothing is left').to.deep.equal([])
  })

  for (const [rule, command] of [
    ['-@dangerous', 'INFO'],
    ['-@scripting', 'EVAL'],
    ['-@blocking', 'BZPOPMIN'],
    ['-xadd', 'XADD'],
    ['-@pubsub', 'PUBLISH'],
    ['-subscribe', 'SUBSCRIBE'],
    ['-pubsub', 'PUBSUB NUMSUB'],
    ['-@transaction', 'MULTI'],
    ['-client|setname', 'CLIENT SETNAME'],
    ['-@write', 'SET'],
    ['resetchannels', 'PUBLISH'],
    ['resetkeys', 'SET'],
  ] as const) {
    it(`is refused with ${rule}, by the name of ${command}`, async () => {
      const refusal = await look([...own, '+@all', rule]).then(
        () => null,
        (error: unknown) => error,
      )
      expect(refusal).to.be.instanceOf(ConfigError)
      expect(String(refusal)).to.match(new RegExp(`REDIS_URL: its user may not run ${command}: NOPERM `))
    })
  }
})
