import { expect } from 'chai'
import { Redis } from 'ioredis'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { announceVersion } from '../../src/shared/catalogue/holder.ts'
import { readVersion } from '../../src/shared/catalogue/versions.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { useInstallation } from '../support/installed.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { until } from '../../scripts/harness/until.ts'
import { untilEnded } from '../support/crash.ts'
import { Crowd, image, medianOf, statuses } from './clients.ts'
import type { ClientOutcome } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** How many versions are applied under load, in the soak one a second at most, by how many clients and workers. */
const VERSIONS = inSoak ? 30 : 2
const PAUSE_MS = inSoak ? 1000 : 0
const CLIENTS = 8
const WORKERS = inSoak ? 2 : 1

/** How soon every process must use a version, in ms; but for the soak, so many looks at all of them may come on top. */
const WITHIN_MS = 2000
const LOOKS = 10

const TOKEN = 'a token of this test'

type Row = { catalogue_version: number; credits: number; upstream: string; status: string; price: { credits: number } }

describe('a catalogue that changes under load', () => {
  const town = useInstallation(
    { METRICS_TOKEN: TOKEN },
    { imageSeconds: inSoak ? 0.1 : 0.05 },
    ({ upstreams }) => (upstreams['even'] = upstreams['sandbox']!),
  )
  let redis: Redis
  let first: { version: number; content: Catalogue }
  /** Where the metrics of each process are. */
  let places: string[]
  let webs: string[]

  before(async () => {
    redis = new Redis(town.config.REDIS_URL)
    const { version, content } = (await readVersion(town.db, 'newest'))!
    first = { version, content: content as Catalogue }
    const programs = await Promise.all([town.start('web'), town.start('web')])
    webs = programs.map(({ url }) => url)
    places = [...webs]
    for (let nth = 0; nth < WORKERS; nth++) {
      const port = await freePort()
      await town.start('worker', { HEALTH_PORT: String(port) })
      places.push(`http://127.0.0.1:${port}`)
    }
  })
  after(() => redis.disconnect())

  /** What version `version` charges for a picture, and who makes it: each differs from the one before in both. */
  const creditsOf = (version: number): number => 40 + version
  const upstreamOf = (version: number): string => (version % 2 === 0 ? 'even' : 'sandbox')

  async function apply(version: number): Promise<void> {
    const content = structuredClone(first.content)
    const upstreams = [{ upstream: upstreamOf(version), model: 'image-sandbox' }]
    Object.assign(
      content.models.find(({ id }) => id === 'sandbox-image')!,
      { credits: creditsOf(version), upstreams },
    )
    const about = { content, source: 'command', operator: null, note: null, expect: version - 1 } as const
    expect(await applyCatalogue(town.db, about)).to.include({ is: 'applied', version })
    await announceVersion(redis, town.config.REDIS_PREFIX, version)
  }

  const versions = (): Promise<number[]> =>
    Promise.all(
      places.map(async (place) => {
        const { text } = await get(`${place}/metrics`, TOKEN)
        return Number(/^tollgate_catalogue_version (\d+)$/m.exec(text)?.[1])
      }),
    )

  /** Applies a version, and waits until every process uses it. @returns how long that took, in ms. */
  async function change(version: number): Promise<number> {
    await apply(version)
    const appliedAt = performance.now()
    await until(`version ${version} in every process`, async () => (await versions()).every((one) => one === version))
    return performance.now() - appliedAt
  }

  it('fails no call, serves each by the version it was opened at, and is everywhere within 2 s', async () => {
    const account = await anAccount(town.db, 100_000_000)
    let turn = 0
    const url = () => webs[turn++ % webs.length]!
    const crowd = new Crowd(CLIENTS, url, account.key, (nth) => image(`change ${nth}`))
    const took: number[] = []
    const looks: number[] = []
    const startedAt = performance.now()
    let flushedAt = Infinity
    for (let nth = 1; nth <= VERSIONS; nth++) {
      await until('the next second', () => performance.now() - startedAt >= nth * PAUSE_MS, 2 * PAUSE_MS + 1000)
      // Redis forgets everything: calls that wait in it may be given back, and versions are used as before.
      if (nth === VERSIONS / 2) {
        flushedAt = Date.now()
        await redis.flushdb()
      }
      const lookedAt = performance.now()
      await versions()
      looks.push(performance.now() - lookedAt)
      took.push(await change(first.version + nth))
      const changedAt = Date.now()
      const served = ({ at, status }: ClientOutcome): boolean => at > changedAt && status === 200
      await until('calls of this version', () => crowd.outcomes.filter(served).length >= 2 * CLIENTS)
    }
    const outcomes = await crowd.stop()
    report(`${took.length} versions, each everywhere after ${Math.round(Math.max(...took))} ms: ${statuses(outcomes)}`)
    const failed = outcomes.filter(({ at, ms, status }) => status !== 200 && !(at <= flushedAt && at + ms >= flushedAt))
    expect(failed.map(({ status, error, reply }) => `${status} ${error} ${reply?.text ?? ''}`)).to.deep.equal([])
    expect(Math.max(...took)).to.be.below(WITHIN_MS + (inSoak ? 0 : LOOKS * medianOf(looks)))

    await untilEnded(town.db, account.id)
    const rows = await town.db('calls').where({ account_id: account.id, status: 'succeeded' }).select<Row[]>('*')
    expect(new Set(rows.map((row) => row.catalogue_version)).size).to.be.at.least(VERSIONS)
    for (const row of rows) {
      const named = row.catalogue_version
      if (named === first.version) continue
      expect(row, `a call of version ${named}`).to.include({ credits: creditsOf(named), upstream: upstreamOf(named) })
    }
  })
})
