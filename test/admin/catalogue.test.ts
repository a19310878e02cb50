import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { forgetVersions } from '../support/catalogue.ts'
import { useDb } from '../support/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import { catalogueCommands } from '../../src/admin/commands/catalogue.ts'
import { CommandError } from '../../src/admin/command.ts'
import type { Options, Report } from '../../src/admin/command.ts'
import { applyFile } from '../../src/shared/operators/catalogue-changes.ts'
import { BadCatalogue } from '../../src/shared/catalogue/faults.ts'
import { readVersion } from '../../src/shared/catalogue/versions.ts'
import { gatewayError } from '../../src/shared/platform/errors.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { opened, verbs } from '../shared/calls/opening.ts'

/** The catalogue of the tests with another price of `sandbox-image`. */
function priced(credits: number, change: (catalogue: Catalogue) => void = () => {}): Catalogue {
  const catalogue = sandboxCatalogue('http://127.0.0.1:9')
  catalogue.models.find(({ id }) => id === 'sandbox-image')!['credits'] = credits
  change(catalogue)
  return catalogue
}

const PRICE = {
  part: 'model',
  name: 'sandbox-image',
  change: 'changed',
  fields: [{ path: 'credits', before: 40, after: 50 }],
}

describe("the operator's commands of the catalogue", () => {
  const db = useDb({ pool: 2, isOwn: true })
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-catalogue-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  afterEach(() => forgetVersions(db))

  let files = 0
  const file = (content: object | string): string => {
    const path = join(folder, `${++files}.json`)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  const admin = (name: string, args: string[] = [], options: Options = {}): Promise<Report<object>> =>
    catalogueCommands.find(({ usage }) => usage.startsWith(`catalogue ${name}`))!.run(db, args, options)
  const refusal = (done: Promise<unknown>): Promise<unknown> =>
    done.then(
      () => 'done',
      (error: unknown) => (error instanceof CommandError ? error.message : error),
    )

  it("show a mask for a header's value, keep the value where it is applied, and take none from a file", async () => {
    const secret = 'Bearer very-secret'
    const withHeader = (value: string): Catalogue =>
      priced(40, (catalogue) => {
        const upstreams = catalogue.upstreams as Record<string, object>
        upstreams['other'] = { protocol: 'openai', baseUrl: 'http://127.0.0.1:9', headers: { 'X-Key': value } }
      })
    await admin('apply', [file(withHeader(secret))])
    const shown = await admin('show')
    expect(JSON.stringify(shown)).not.to.include('very-secret')
    const masked = { ...withHeader('•••'), models: priced(50).models }
    expect((await admin('check', [file(masked)])).complaint).to.equal(undefined)
    const diff = await admin('diff', [file(masked)])
    expect(diff.json).to.deep.include({ changes: [PRICE] })
    await admin('apply', [file(masked)])
    expect(JSON.stringify((await readVersion(db, 'newest'))!.content)).to.include(secret)
    expect(await refusal(applyFile(db, masked))).to.be.an.instanceOf(BadCatalogue)
    const moved = JSON.stringify(masked).replace('http://127.0.0.1:9"', 'https://elsewhere.example"')
    expect((await admin('apply', [file(moved)])).complaint).to.match(/not valid/)
  })

  it('apply a file, show it, and list what was applied, by whom and why', async () => {
    expect(await refusal(admin('show'))).to.match(/run migrate/)
    const first = await admin('apply', [file(priced(40))])
    expect(first.json).to.deep.include({ version: 1 })
    const second = await admin('apply', [file(priced(50))], { note: 'dearer', expect: '1' })
    expect(second.json).to.deep.equal({ version: 2, changes: [PRICE] })
    expect(second.text).to.match(/^~ model sandbox-image credits: 40 → 50\nVersion 2 is now the current one\./)
    expect((await admin('show')).json).to.deep.include({ version: 2, by: 'command line', catalogue: priced(50) })
    const history = (await admin('history')).json as Record<string, unknown>[]
    expect(history.map(({ appliedAt: _at, ...rest }) => rest)).to.deep.equal([
      { version: 2, by: 'command line', note: 'dearer' },
      { version: 1, by: 'command line', note: null },
    ])
    expect((await admin('apply', [file(priced(50))])).text).to.match(/^No changes: version 2 has the same content/)
  })

  it('check a file, and name every fault by its path, and every cost above its price', async () => {
    expect((await admin('check', [file(priced(40))])).text).to.equal('The catalogue is valid.')
    const bad = priced(-1, ({ models, upstreams }) => {
      models[0]!['pricing'] = { input: 1.5, output: 1e12, perTokens: 0 }
      Object.assign(upstreams.sandbox!, { protocol: 'soap', colour: 'red' })
    })
    const { text: said, complaint } = await admin('check', [file(bad)])
    expect(said.split('\n').map((line) => line.split(':')[0])).to.have.members(
      (
        'upstreams.sandbox.protocol upstreams.sandbox.colour models[0].pricing.input ' +
        'models[0].pricing.output models[0].pricing.perTokens models[0].pricing.minimum ' +
        'models[2].credits'
      ).split(' '),
    )
    expect(complaint).to.equal('The catalogue is not valid: 7 faults.')
    const selling = priced(40, (catalogue) => {
      Object.assign(catalogue, { creditMicroUsd: 1000 })
      catalogue.models[2]!['upstreams'] = [{ upstream: 'sandbox', model: 'image-sandbox', cost: { perCall: 40_001 } }]
    })
    const loss = await admin('check', [file(selling)])
    expect(loss.complaint).to.match(/sells below its cost: 1 fault/)
    expect(loss.text).to.match(/^models\[2\]\.upstreams\[0\]\.cost/)
    expect((await admin('check', [file('{"models": [')])).text).to.match(/^\(top\): is not JSON/)
    expect((await admin('check', [join(folder, 'none.json')])).text).to.match(/^\(top\): cannot be read/)
    for (const name of ['apply', 'diff']) expect((await admin(name, [file(bad)])).complaint, name).to.match(/7 faults/)
    expect(await readVersion(db, 'newest')).to.equal(null)
  })

  it('refuse to lose a key that open tasks need, with their number, unless forced', async () => {
    const pooled = (...names: string[]): Catalogue =>
      priced(40, ({ upstreams }) => {
        const keys = names.map((name) => ({ name, apiKeyEnv: `POOL_${name.toUpperCase()}` }))
        upstreams['pool'] = { protocol: 'openai', baseUrl: 'http://127.0.0.1:9', keys }
      })
    const versionNow = async () => (await readVersion(db, 'newest'))!.version
    const calls = verbs(db)
    const account = await anAccount(db, 100)
    const tasks: CallId[] = []
    await admin('apply', [file(pooled('a', 'b'))])
    for (const task of ['one', 'two']) {
      const id = await opened(calls, account, 10, { modality: 'video' })
      await calls.begin(id)
      await calls.submitted(id, 1, { upstream: 'pool', upstreamKey: 'a', ref: { task } })
      tasks.push(id)
    }
    const lost = 'upstreams.pool.keys: 2 open tasks need the key "a": wait, or apply with --force'
    expect((await admin('apply', [file(pooled('b'))])).text).to.include(lost)
    expect((await admin('apply', [file(priced(40))])).text).to.include(lost)
    expect(await versionNow()).to.equal(1)
    await admin('apply', [file(pooled('b', 'a', 'c'))])
    await admin('apply', [file(pooled('b'))], { force: 'yes' })
    await admin('rollback', ['1'])
    expect((await admin('rollback', ['3'])).text).to.include(lost)
    await admin('rollback', ['3'], { force: 'yes' })
    expect(await versionNow()).to.equal(5)
    for (const id of tasks) await calls.refund(id, gatewayError('upstream_failed'))
    await admin('apply', [file(pooled('c'))])
    expect(await versionNow()).to.equal(6)
  })

  it('name what was applied meanwhile on a conflict, which is a complaint', async () => {
    await admin('apply', [file(priced(40))])
    const { json, complaint } = await admin('apply', [file(priced(50))], { expect: '0' })
    expect(complaint).to.match(/^conflict: /)
    expect(json).to.deep.include({ conflict: true, version: 1 })
  })
})
