/**
 * `npm run bench [-- --peer] [--seconds 3] [--rounds 10] [--in-flight 1,50,200] [--only floor,tollgate]`: what a call
 * costs, measured in one run so that the figures can be compared: the upstream directly, a bare proxy without billing
 * or queue, the floor of this shape (bench/floor.ts), Tollgate's chat with everything on, and with --peer a stateless
 * gateway that does not bill; with --all also stored images, many accounts in turn, a key with a budget, and the list
 * of models. Absolute times are this machine's; ratios carry over to others.
 *
 * `npm run bench -- --streams [--in-flight 50,100,200,400]`: what a chunk of a stream costs beside a relay, and how
 * late it is (bench/streams.ts).
 *
 * `npm run bench -- --check` fails where Tollgate is further from the floor than bench/recorded.json says, by more than
 * a tenth; `--record` writes that file.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { build, buildIsStale } from '../scripts/build/builder.ts'
import { root } from '../scripts/folders.ts'
import { readOptions } from '../scripts/options.ts'
import { migrate } from '../scripts/harness/database.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { killTree } from '../scripts/harness/processes.ts'
import { connectPersistent } from '../src/shared/platform/redis/redis.ts'
import { countedBy } from './counts.ts'
import type { Counts } from './counts.ts'
import { closeness, printReport, writeRounds } from './report.ts'
import type { Closeness } from './report.ts'
import { loaded, measureAll } from './rounds.ts'
import type { Round } from './rounds.ts'
import type { Services } from './stack.ts'
import { compareStreams } from './streams.ts'
import { say, startServices } from './stack.ts'
import { startSubjects } from './subjects.ts'
import type { Subject } from './subjects.ts'

const usage =
  'npm run bench -- [--peer] [--all] [--streams] [--check] [--record] [--seconds 3] [--rounds 10] ' +
  '[--in-flight 1,50,200] [--only floor,tollgate] [--out FILE]'
const { values: options } = readOptions(usage, {
  options: {
    peer: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    streams: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '10' },
    'in-flight': { type: 'string' },
    only: { type: 'string' },
    out: { type: 'string', default: '.bench/result.json' },
  },
})

const folder = join(root, '.bench')

/** Subjects of which is counted what they ask of Postgres and Redis, and for how long, in ms. */
const COUNTED = { names: ['floor', 'tollgate'], ms: 10_000 }

async function countAll(subjects: Subject[], { postgres, redis: { url } }: Services): Promise<Map<string, Counts>> {
  const redis = connectPersistent({ REDIS_URL: url, REDIS_TLS_VERIFY: 'on' })
  const counts = new Map<string, Counts>()
  for (const subject of subjects.filter(({ name }) => COUNTED.names.includes(name))) {
    say(`counting: ${subject.name}`)
    counts.set(subject.name, await countedBy(postgres.url, redis, () => loaded(subject, 1, COUNTED.ms)))
  }
  redis.disconnect()
  return counts
}

/** What is held to the record, and the share of it that is still good enough. */
const CHECKED = { subjects: ['floor', 'tollgate'], inFlight: [50, 200], enough: 0.9 }

const recordFile = join(root, 'bench/recorded.json')

/** One line that says whether Tollgate is as close to the floor as it was. @returns whether it is. */
function verdict(rounds: Round[]): boolean {
  const now = Object.fromEntries(
    CHECKED.inFlight.map((inFlight) => [inFlight, closeness(rounds, 'tollgate', inFlight)]),
  )
  if (options.record) writeFileSync(recordFile, `${JSON.stringify(now, null, 2)}\n`)
  const recorded = JSON.parse(readFileSync(recordFile, 'utf8')) as Record<string, Closeness>
  const isClose = CHECKED.inFlight.every((inFlight) =>
    (['cpu', 'rate'] as const).every((of) => now[inFlight]![of] >= recorded[inFlight]![of] * CHECKED.enough),
  )
  const said = CHECKED.inFlight.map((inFlight) => {
    const [is, was] = [now[inFlight]!, recorded[inFlight]!]
    const [cpu, rate] = (['cpu', 'rate'] as const).map((of) => `${is[of].toFixed(2)} (${was[of].toFixed(2)})`)
    return `${inFlight} in flight CPU ${cpu}, calls/s ${rate}`
  })
  console.log(`\n${isClose ? 'as close' : 'NOT as close'} to the floor as recorded: ${said.join('; ')}`)
  return isClose
}

async function main(): Promise<boolean> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const services = await startServices(folder)
  await migrate(services.postgres.url)
  const running: Process[] = []
  try {
    const isChecked = options.check || options.record
    const only = isChecked ? CHECKED.subjects : options.only?.split(',')
    const subjects = (await startSubjects(folder, services, running, options)).filter(
      ({ name }) => only?.includes(name) ?? true,
    )
    const inFlight = options['in-flight']?.split(',').map(Number)
    if (options.streams) {
      await compareStreams(subjects, inFlight ?? [50, 100, 200, 400])
      return true
    }
    const rounds = await measureAll(subjects, {
      inFlight: isChecked ? CHECKED.inFlight : (inFlight ?? [1, 50, 200]),
      rounds: Number(options.rounds),
      seconds: Number(options.seconds),
    })
    const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`
    printReport(rounds, await countAll(subjects, services), machine)
    writeRounds(rounds, join(root, options.out), machine)
    return !isChecked || verdict(rounds)
  } finally {
    for (const one of running.toReversed()) killTree(one.pid)
    await services.redis.stop()
    await services.postgres.stop()
  }
}

process.exit((await main()) ? 0 : 1)
