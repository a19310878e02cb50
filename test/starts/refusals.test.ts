import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { BAD } from '../shared/bad-values.ts'
import type { Kind } from './support/started.ts'
import { Started, compiled, longestMs, refusalOf } from './support/started.ts'

type Settings = Record<string, string>

/** What a start is refused for: in which process, by which settings, and what its one line must report. */
type Case = [what: string, kind: Kind, settings: () => Settings, says: RegExp]

/** A message in which all of these are, in any order. */
const allOf = (patterns: string[]): RegExp => new RegExp(patterns.map((pattern) => `(?=.*${pattern})`).join(''))

/**
 * One process of each kind for each way in which it ends. All reasons are tested without processes: by the
 * configuration (test/shared/platform/config), and by the checks of services, storage and ports (start-up,
 * storage-check, http-server).
 */
describe('a process that cannot start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-starts-'))
  const models = join(folder, 'models.json')
  let good: Settings
  let longest: number
  let taken: Server
  before(async function () {
    // It may build.
    this.timeout(300_000)
    await compiled()
    longest = await longestMs()
    const { url, prefix } = await testRedis()
    good = { DATABASE_URL: await newDatabaseUrl(), REDIS_URL: url, REDIS_PREFIX: prefix, APP_SECRET: 'x'.repeat(32) }
    await offer(good.DATABASE_URL!, sandboxCatalogue('http://127.0.0.1:9'))
    writeFileSync(
      models,
      JSON.stringify({ upstreams: {}, models: [{ id: 'a' }, { id: 'b', modality: 'image' }], x: 1 }),
    )
    taken = createServer().listen(0)
  })
  after(() => {
    rmSync(folder, { recursive: true })
    taken.close()
  })

  const wrongPassword = (): Settings => {
    const url = new URL(good.DATABASE_URL!)
    url.password = 'hunter2'
    return { DATABASE_URL: url.href, LOG_LEVEL: 'silent' }
  }
  const port = () => String((taken.address() as AddressInfo).port)
  const refused = /DATABASE_URL: Postgres cannot be used: password authentication failed/

  const cases: Case[] = [
    [
      'variables that cannot be used, all in one message',
      'web',
      () => Object.fromEntries(Object.keys(BAD).map((name) => [name, BAD[name]![0]!])),
      allOf(Object.keys(BAD).map((name) => `\\b${name} `)),
    ],
    ['a wrong password, whatever LOG_LEVEL is', 'web', wrongPassword, refused],
    ['a taken port', 'web', () => ({ PORT: port() }), /EADDRINUSE/],
    ['a missing secret', 'worker', () => ({ APP_SECRET: '' }), /: APP_SECRET is required\.$/],
    [
      'a folder that cannot be written',
      'worker',
      () => ({ STORAGE_URL: 'file:/dev/null/media' }),
      /STORAGE_URL: the folder .* cannot be written/,
    ],
    ['a taken port', 'worker', () => ({ HEALTH_PORT: port() }), /EADDRINUSE/],
    [
      'a catalogue with mistakes, all in one message',
      'release',
      () => ({ MODELS_FILE: models }),
      allOf([
        'MODELS_FILE ',
        'models\\[0\\]\\.modality: ',
        'models\\[1\\]\\.upstreams: is required',
        ' x: is not a known field',
      ]),
    ],
    [
      'a catalogue that is not there',
      'release',
      () => ({ MODELS_FILE: join(folder, 'none.json') }),
      /MODELS_FILE .*cannot be read/,
    ],
    ['a wrong password', 'release', wrongPassword, refused],
    ['an address that is not set', 'admin', () => ({ DATABASE_URL: '' }), /: DATABASE_URL is required\.$/],
    ['a wrong password', 'admin', wrongPassword, refused],
  ]

  for (const [what, kind, settings, says] of cases) {
    it(`is refused for ${what}: ${kind}`, async () => {
      const { code, lines, ownMs } = await refusalOf(kind, { ...good, PORT: '0', ...settings() })
      expect(lines, lines.join('\n')).to.have.lengthOf(1)
      expect(code, lines[0]).to.equal(78)
      // The command line talks to people: its line is the sentence alone.
      const line = kind === 'admin' ? { msg: lines[0]! } : (JSON.parse(lines[0]!) as { msg: string })
      if (kind !== 'admin') expect(line).to.include({ level: 'fatal', process: kind })
      expect(line.msg).to.match(says)
      expect(lines[0]).not.to.match(/hunter2|50%@/)
      expect(ownMs, 'ms until it ended').to.be.below(longest)
    })
  }

  it('ends with the same exit code where nobody reads its line', async () => {
    const started = new Started('web', { ...good, PORT: 'x' })
    started.child.stdout!.destroy()
    expect(await started.ended).to.equal(78)
  })
})
