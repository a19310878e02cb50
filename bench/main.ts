/**
 * `npm run bench [-- --peer] [--seconds 3] [--rounds 10] [--in-flight 1,50,200] [--only floor,tollgate]`: what a call
 * costs, measured in one run so that the figures can be compared: the upstream directly, a bare proxy without billing
 * or queue, the floor of this shape (bench/floor.ts), Tollgate's chat with everything on, and with --peer a stateless
 * gateway that does not bill; with --all also stored images, many accounts in turn, a key with a budget, and the list
 * of models. Absolute times are this machine's; ratios carry over to others.
 *
 * `npm run bench -- --rows 1000000`: whether all of this stays so in full tables (bench/rows.ts).
 *
 * `npm run bench -- --streams [--in-flight 50,100,200,400]`: what a chunk of a stream costs compared with a relay, and
 * how late it is (bench/streams.ts).
 *
 * `npm run bench -- --check` fails where Tollgate is further from the floor than in bench/recorded.json, by more than a
 * tenth, or where a call asks more of Postgres or Redis; `--record` writes that file.
 */
import { mkdirSync, rmSync } from 'node:fs'
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
import { CHECKED, recordOf, worseThanRecorded, writeRecord } from './record.ts'
import { printCounts, printReport, writeRounds } from './report.ts'
import type { Counted } from './report.ts'
import { loaded, measureAll } from './rounds.ts'
import type { Services } from './stack.ts'
import { compareStreams, passesPerChunk } from './streams.ts'
import { say, startServices } from './stack.ts'
import { startCountingJson, startSubjects } from './subjects.ts'
import type { Subject } from './subjects.ts'

// That is another run, with options of its own.
if (process.argv.includes('--rows')) {
  const { measureRows } = await import('./rows.ts')
  process.exit((await measureRows()) ? 0 : 1)
}

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

/** Subjects of which is counted what they ask of Postgres and Redis, at how many in flight, and for how long, in ms. */
const COUNTED = { names: ['floor', 'tollgate'], inFlight: [1, 50], ms: 10_000 }

async function countAll(subjects: Subject[], { postgres, redis: { url } }: Services): Promise<Counted[]> {
  const redis = connectPersistent({ REDIS_URL: url, REDIS_TLS_VERIFY: 'on' })
  const counted: Counted[] = []
  for (const subject of subjects.filter(({ name }) => COUNTED.names.includes(name))) {
    for (const inFlight of COUNTED.inFlight) {
      say(`counting: ${subject.name}, ${inFlight} in flight`)
      const counts = await countedBy(postgres.url, redis, () => loaded(subject, inFlight, COUNTED.ms))
      counted.push({ subject: subject.name, inFlight, counts })
    }
  }
  redis.disconnect()
  return counted
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
    const all = await startSubjects(folder, services, running, options)
    const subjects = all.filter(({ name }) => only?.includes(name) ?? true)
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
    printReport(rounds, machine)
    writeRounds(rounds, join(root, options.out), machine)
    const counted = await countAll(subjects, services)
    const upstream = all.find(({ name }) => name === 'upstream')!
    const streamed = await startCountingJson(folder, services, upstream.port, running)
    const passes = await passesPerChunk(streamed, join(folder, 'json'))
    printCounts(counted, passes)
    if (!isChecked) return true
    const now = recordOf(rounds, counted, passes)
    if (options.record) writeRecord(now)
    const worse = worseThanRecorded(now)
    console.log(worse.length === 0 ? '\nnothing is worse than recorded' : `\nWORSE than recorded:\n${worse.join('\n')}`)
    return worse.length === 0
  } finally {
    for (const one of running.toReversed()) killTree(one.pid)
    await services.redis.stop()
    await services.postgres.stop()
  }
}

process.exit((await main()) ? 0 : 1)
