import { expect } from 'chai'
import type { AccountId, CallId } from '../../src/shared/platform/ids.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import { get } from '../../scripts/harness/http.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { until } from '../../scripts/harness/until.ts'
import { callsOf, untilEnded } from '../support/crash.ts'
import { useInstallation } from '../support/installed.ts'
import type { ReleasePair } from '../support/releases.ts'
import { LATER, releasePair } from '../support/releases.ts'
import type { Ask, ClientOutcome } from './clients.ts'
import { Crowd, chat, image, statuses, video } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** Where the service goes from the older release on, and what the release phase says where the newer one was made. */
const WAY = [
  { which: 'newer', says: `Applied: ${LATER}, sql/` },
  { which: 'older', says: `(${LATER})` },
  { which: 'newer', says: 'The schema is up to date.' },
] as const

const CLIENTS = 8

/** Requests that must be answered while processes of both releases run side by side. */
const BESIDE = 150

/** How many of the accepted calls are fetched: reads are limited. */
const READS = 100

const CREDITS = 10_000_000

/** Requests of every kind, in turn. */
function request(nth: number): ReturnType<Ask> {
  const words = `release ${nth}`
  if (nth % 40 === 7) return video(words)
  if (nth % 4 === 0) return image(words)
  if (nth % 4 === 1) return chat(`${words} [chunks 4 20]`, { stream: true })
  if (nth % 4 === 2) return { ...chat(`${words} [delay 100]`), headers: { 'idempotency-key': words } }
  return { ...chat(`${words} [delay 50]`), headers: { prefer: 'respond-async' } }
}

/** Whether an answer is whole: a result, the address of one, or a documented refusal. */
function isWhole({ status, reply }: ClientOutcome): boolean {
  if (!reply) return false
  const { text, json, headers } = reply
  if (status === 503) return headers.has('retry-after') && json?.error?.type !== undefined
  if (status === 202) return headers.has('location')
  return status === 200 && (json ? json.ok === true : text.endsWith('data: [DONE]\n\n') && !text.includes('"error"'))
}

const isServed = ({ status }: ClientOutcome): boolean => status === 200 || status === 202

// It takes most of a minute, for what `npm test` tries in parts (test/migrations.test.ts, test/crash/load.test.ts).
const inSoakOnly = inSoak ? describe : describe.skip

inSoakOnly('two releases on one database', function () {
  this.timeout(400_000)
  const town = useInstallation(
    { CHAT_CONCURRENCY: '60', ACCOUNT_SHARE: '1' },
    { imageSeconds: 0.05, videoSeconds: 0.5 },
    // Models alone: an older release may not know what else a catalogue can have.
    (catalogue: Partial<Catalogue>) => {
      delete catalogue.packs
      delete catalogue.topUp
    },
  )
  let releases: ReleasePair
  let account: { id: AccountId; key: string }
  let running: Program[]

  before(async () => {
    releases = releasePair()
    // As the older release makes it, and as it makes accounts.
    await town.db.raw('DROP SCHEMA public CASCADE')
    await town.db.raw('CREATE SCHEMA public')
    await release('older')
    const email = 'releases@example.com'
    const { id } = await admin('older', ['account', 'create', email], 'a passw0rd of this test\n')
    await admin('older', ['credits', 'grant', email, String(CREDITS)])
    const { secret } = await admin('older', ['key', 'create', email])
    account = { id: parseId('account', id!)!, key: secret! }
    running = await start('older')
  })
  after(() => releases.remove())

  type Which = 'older' | 'newer'

  const release = (which: Which): Promise<string> => town.installation.run('release', releases[which])

  const admin = async (which: Which, args: string[], input = ''): Promise<Record<string, string>> =>
    JSON.parse(await town.installation.run('admin', releases[which], [...args, '--json'], input)) as Record<
      string,
      string
    >

  /** Each release has queues of its own choice. */
  const start = (which: Which): Promise<Program[]> => {
    const settings = { tree: releases[which], WORKER_QUEUES: '' }
    return Promise.all([town.start('web', settings), town.start('worker', settings)])
  }

  /** The release phase, then new processes beside the old ones, which stop once requests go to the new ones. */
  async function goTo(
    { which, says }: (typeof WAY)[number],
    crowd: Crowd,
    direct: (...webs: Program[]) => void,
  ): Promise<void> {
    const startedAt = performance.now()
    const said = await release(which)
    report(`release phase of the ${which} one: ${Math.round(performance.now() - startedAt)} ms`)
    if (releases.made) expect(said).to.include(says)
    const before = running
    running = await start(which)
    direct(before[0]!, running[0]!)
    const answered = crowd.outcomes.length
    await until('answers of both', () => crowd.outcomes.length >= answered + BESIDE)
    direct(running[0]!)
    const ends = await Promise.all(before.map((one) => one.stop()))
    expect(
      ends.map(({ code }) => code),
      before.map((one) => one.log()).join('\n'),
    ).to.deep.equal([0, 0])
  }

  it('serve every call while the service goes forward and back between them', async () => {
    let webs = [running[0]!]
    let turn = 0
    const crowd = new Crowd(CLIENTS, () => webs[turn++ % webs.length]!.url, account.key, request)
    try {
      await until('load', () => crowd.outcomes.length > BESIDE)
      for (const step of WAY) await goTo(step, crowd, (...now) => (webs = now))
    } finally {
      await crowd.stop()
    }
    const { outcomes } = crowd
    report(`forward, back and forward between two releases: ${statuses(outcomes)}`)
    expect(
      outcomes.filter((one) => !isWhole(one)).map(({ status, error, reply }) => `${status} ${error} ${reply?.text}`),
    ).to.deep.equal([])

    await untilEnded(town.db, account.id)
    const accepted = outcomes.filter(({ status }) => status === 202)
    for (const { reply } of accepted.slice(-READS)) {
      const fetched = await get(`${webs[0]!.url}${reply!.headers.get('location')}`, account.key)
      expect(fetched.status, fetched.text).to.equal(200)
    }
    const calls = await callsOf(town.db, account.id)
    const succeeded = calls
      .filter(({ status }) => status === 'succeeded')
      .map(({ id }) => publicId('call', id as CallId))
    expect(succeeded).to.have.members(outcomes.filter(isServed).map(({ reply }) => reply!.headers.get('x-call-id')!))
    expect(town.sandbox.billed('release').total, 'submissions that were billed').to.equal(succeeded.length)
    for (const which of ['older', 'newer'] as const) await admin(which, ['audit'])
  })
})
