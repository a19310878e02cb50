import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import type { Installation } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { medianOf } from './clients.ts'
import { inSoak, seed, report } from './scale.ts'
import { spread } from './storm/recoveries.ts'
import { stepsOf } from './storm/steps.ts'
import { storm } from './storm/storm.ts'
import type { StormFigures, StormOptions } from './storm/storm.ts'

/** Adds `sandbox-claude`, at the price of `sandbox-chat`, whose upstream speaks the Messages API. */
function withClaude({ upstreams, models }: Catalogue): void {
  const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
  upstreams.claude = { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') }
  const { pricing } = models.find(({ id }) => id === 'sandbox-chat')!
  models.push({
    id: 'sandbox-claude',
    modality: 'chat',
    pricing,
    upstreams: [{ upstream: 'claude', model: 'claude-sandbox' }],
  })
}

/** How many processes are killed: with an undisturbed Redis, and with one that is flushed now and then. */
const KILLS = inSoak ? { calm: 135, forgetful: 90 } : { calm: 6, forgetful: 0 }

/** The promise is 10 s beyond what the upstream needs, on a machine that runs no other tests. */
const TAKEOVER_MS = 10_000
const LONGEST_TAKEOVER_MS = 30_000

describe('processes killed at named steps of calls, under load', () => {
  let sandbox: Sandbox
  let town: Installation
  let redis: Redis
  const steps = new Set<string>()
  const size = inSoak ? { webs: 2, workers: 4, clients: 16 } : { webs: 1, workers: 3, clients: 16 }

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.05 })
    town = await install(sandbox, { DATABASE_POOL: '5' }, {}, withClaude)
    redis = new Redis(town.config.REDIS_URL)
  })
  after(async () => {
    redis.disconnect()
    await town.end()
    await sandbox.close()
  })

  async function rage(options: Pick<StormOptions, 'kills' | 'flush'>): Promise<StormFigures> {
    const figures = await storm(town, sandbox, { ...size, ...options, seed, steps })
    report(
      `${figures.kills} processes killed, ${figures.calls} calls, ${figures.succeeded} succeeded, ` +
        `${figures.calls - figures.succeeded} refunded; seed ${seed}`,
    )
    return figures
  }

  it('leave no call open or charged twice, and no client without the answer for its key', async () => {
    const { recoveries, slowestStart } = await rage({ kills: KILLS.calm })
    report(
      `taken over after their worker was killed: chats ${spread(recoveries.chat)}; ` +
        `images ${spread(recoveries.image)}; videos ${spread(recoveries.video)}`,
    )
    // A worker that takes a call over may have to start first, which takes long on a busy machine.
    const longest = LONGEST_TAKEOVER_MS + (inSoak ? 0 : slowestStart)
    expect(Math.max(0, ...recoveries.chat, ...recoveries.image)).to.be.below(longest)
    if (inSoak) expect(medianOf([...recoveries.chat, ...recoveries.image])).to.be.below(TAKEOVER_MS)
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
