import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Redis } from 'ioredis'
import { testConfig } from '../../../scripts/harness/harness.ts'
import type { Limits } from '../../../src/api/endpoint/rate-limits.ts'
import { createLimits } from '../../../src/api/endpoint/rate-limits.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import { connectPersistent } from '../../../src/shared/platform/redis/redis.ts'

describe('a rate limit', () => {
  let redis: Redis
  let limits: Limits
  const commands: string[] = []
  before(async () => {
    const config = await testConfig('http://127.0.0.1:9')
    redis = connectPersistent(config)
    const sendCommand = redis.sendCommand.bind(redis)
    redis.sendCommand = (...args: Parameters<Redis['sendCommand']>) => {
      commands.push(args[0].name)
      return sendCommand(...args)
    }
    limits = createLimits(redis, { ...config, LOGIN_RATE_LIMIT: 2, REDIS_PREFIX: `limits-${randomUUID()}` })
    await redis.ping()
    // The script is known from here on.
    await limits.calls.take('warm')
  })
  beforeEach(() => commands.splice(0))
  after(() => redis.disconnect())

  /** What is left after each of so many simultaneous events; null where one was refused. */
  const remainingAfter = (subject: string, counts: (number | undefined)[]): Promise<(number | null)[]> =>
    Promise.all(
      counts.map((count) =>
        limits.calls.take(subject, { points: 10, ...(count !== undefined && { count }) }).then(
          ({ remaining }) => remaining,
          (error: unknown) => {
            expect(error).to.be.instanceOf(ApiError)
            expect((error as ApiError).code).to.equal('rate_limited')
            expect((error as ApiError).retryAfterSeconds).to.be.within(1, 60)
            return null
          },
        ),
      ),
    )

  it('counts the events of one turn by one command, and refuses those beyond it, in their order', async () => {
    const first = Array.from({ length: 6 }, () => undefined)
    expect(await remainingAfter('a', first)).to.deep.equal([9, 8, 7, 6, 5, 4])
    expect(commands).to.have.lengthOf(1)
    expect(await remainingAfter('a', first)).to.deep.equal([3, 2, 1, 0, null, null])
    expect(commands).to.have.lengthOf(2)
    expect(await remainingAfter('a', [undefined])).to.deep.equal([null])
  })

  it('counts each subject for itself, and events of more than one point', async () => {
    const [several, other] = await Promise.all([
      remainingAfter('b', [4, 5, 2, undefined]),
      remainingAfter('c', [undefined]),
    ])
    expect(several).to.deep.equal([6, 1, null, null])
    expect(other).to.deep.equal([9])
  })

  describe('of a network', () => {
    /** Which of these addresses, one after the other, are let in. */
    async function letIn(...addresses: string[]): Promise<boolean[]> {
      const ends: boolean[] = []
      for (const address of addresses)
        ends.push(
          await limits.logins.take(address).then(
            () => true,
            () => false,
          ),
        )
      return ends
    }
    const twice = (count: number, subnet: (nth: number) => string): string[] =>
      Array.from({ length: count }, (_, nth) => Array<string>(2).fill(`2001:db8:9:${subnet(nth)}::1`)).flat()

    it('counts a /56 of IPv6 four times, and a /48 sixteen times as much as an address', async () => {
      const narrow = await letIn(...twice(4, (nth) => `1${nth}`.padStart(4, '0')), '2001:db8:9:1f::1')
      expect(narrow).to.deep.equal([...Array<boolean>(8).fill(true), false])
      const next = twice(12, (nth) => `${(nth % 3) + 1}0${nth.toString(16)}`)
      expect(await letIn(...next, '2001:db8:9:f00::1', '2001:db8:a::1')).to.deep.equal([
        ...Array<boolean>(24).fill(true),
        false,
        true,
      ])
    })

    it('lets what one network is refused use up nothing of the wider ones', async () => {
      const refused = Array<string>(40).fill('2001:db8:b:1::1')
      expect((await letIn(...refused)).filter(Boolean)).to.have.length(2)
      expect(await letIn('2001:db8:b:2::1')).to.deep.equal([true])
    })
  })

  it('fails every event of a turn in which Redis is away', async () => {
    const away = redis.duplicate({ lazyConnect: true })
    const { calls } = createLimits(away, await testConfig('http://127.0.0.1:9'))
    const ends = await Promise.allSettled([calls.take('d'), calls.take('d')])
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    away.disconnect()
  })
})
