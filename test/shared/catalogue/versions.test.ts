import { expect } from 'chai'
import { forgetVersions } from '../../support/catalogue.ts'
import { sandboxCatalogue } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Application, Applied } from '../../../src/shared/operators/catalogue-changes.ts'
import { applyCatalogue, applyFile, rollBack } from '../../../src/shared/operators/catalogue-changes.ts'
import { BadCatalogue } from '../../../src/shared/catalogue/faults.ts'
import type { CatalogueHolder } from '../../../src/shared/catalogue/holder.ts'
import { UnusableVersion, holdCatalogue } from '../../../src/shared/catalogue/holder.ts'
import { listVersions, readVersion, storeVersion } from '../../../src/shared/catalogue/versions.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { useDb } from '../../support/database.ts'

const image = (credits: number, id = 'sandbox-image') => ({
  id,
  modality: 'image',
  credits,
  upstreams: [{ upstream: 'sandbox', model: 'image-sandbox' }],
})

/** A catalogue with these models alone. */
const content = (...models: object[]) => ({ ...sandboxCatalogue('http://127.0.0.1:9'), models })

describe('the versions of the catalogue', () => {
  const db = useDb({ isOwn: true })
  afterEach(() => forgetVersions(db))

  const apply = (given: unknown, more: Partial<Application> = {}): Promise<Applied> =>
    applyCatalogue(db, { content: given, source: 'command', operator: null, note: null, expect: null, ...more })
  const current = async () => (await readVersion(db, 'newest'))!

  it('count from 1, and keep what was given, who gave it, when and why', async () => {
    const operator = await anAccount(db)
    expect(await apply(content(image(40)), { note: 'the first' })).to.include({ is: 'applied', version: 1 })
    const page: Partial<Application> = { source: 'page', operator: operator.userId, expect: 1 }
    expect(await apply(content(image(50)), page)).to.include({ is: 'applied', version: 2 })
    expect(await applyFile(db, content(image(60)))).to.equal(3)
    const history = await listVersions(db, 10)
    expect(history.map(({ version, by, note, source }) => ({ version, by, note, source }))).to.deep.equal([
      { version: 3, by: 'MODELS_FILE', note: null, source: 'file' },
      { version: 2, by: operator.email, note: null, source: 'page' },
      { version: 1, by: 'command line', note: 'the first', source: 'command' },
    ])
    for (const { appliedAt } of history) expect(Date.parse(appliedAt)).to.be.closeTo(Date.now(), 60_000)
    expect((await readVersion(db, 1))!.content).to.deep.equal(content(image(40)))
    expect((await listVersions(db, 1, 3)).map(({ version }) => version)).to.deep.equal([2])
  })

  it('are never changed, removed or numbered with gaps, not even by hand', async () => {
    await apply(content(image(40)))
    const refused = async (sql: string): Promise<string> =>
      db.raw(sql).then(
        () => 'done',
        (error: Error & { constraint?: string }) => error.constraint ?? error.message,
      )
    expect(await refused(`UPDATE catalogue_versions SET note = 'x'`)).to.match(/append-only/)
    expect(await refused('DELETE FROM catalogue_versions')).to.match(/append-only/)
    expect(await refused('TRUNCATE catalogue_versions')).to.match(/append-only/)
    const row = (version: number) =>
      `INSERT INTO catalogue_versions (version, content, hash, source)
       SELECT ${version}, content, hash, 'file' FROM catalogue_versions WHERE version = 1`
    expect(await refused(row(3))).to.equal('catalogue_versions_previous_fkey')
    expect(await refused(row(0))).to.equal('catalogue_versions_count_from_one')
    expect(await refused(row(1))).to.equal('catalogue_versions_pkey')
  })

  it('are validated as a whole: bad content changes nothing, and all its faults are named', async () => {
    await apply(content(image(40)))
    const bad = content(image(-1), {
      ...image(1.5, 'other'),
      colour: 'red',
      upstreams: [{ upstream: 'none', model: 'x' }],
    })
    const error = await apply(bad).catch((thrown: unknown) => thrown)
    expect(error).to.be.an.instanceOf(BadCatalogue)
    expect((error as BadCatalogue).faults.map(({ path }) => path)).to.have.members(
      'models[0].credits models[1].credits models[1].colour models[1].upstreams[0].upstream'.split(' '),
    )
    expect((await current()).version).to.equal(1)
    expect(await db('operator_actions')).to.have.length(1)
  })

  it('are not added if the content is already current, whatever its formatting', async () => {
    const { upstreams, models } = content(image(40))
    await apply({ upstreams, models })
    expect(await apply({ models, upstreams })).to.deep.equal({ is: 'unchanged', version: 1 })
    expect((await current()).version).to.equal(1)
  })

  it('are refused if another version than the current one is expected, with what was changed meanwhile', async () => {
    await apply(content(image(40)))
    await apply(content(image(50)), { expect: 1 })
    expect(await apply(content(image(60)), { expect: 1 })).to.deep.equal({
      is: 'conflict',
      version: 2,
      by: 'command line',
      changes: [
        {
          part: 'model',
          name: 'sandbox-image',
          change: 'changed',
          fields: [{ path: 'credits', before: 40, after: 50 }],
        },
      ],
    })
    expect((await current()).content).to.deep.equal(content(image(50)))
  })

  it('let one win of many that expect the same version, and apply all that expect none', async () => {
    await apply(content(image(1)))
    const rivals = await Promise.all([...Array(8).keys()].map((n) => apply(content(image(n + 10)), { expect: 1 })))
    expect(rivals.map(({ is }) => is).toSorted()).to.deep.equal(['applied', ...Array<string>(7).fill('conflict')])
    const all = await Promise.all([...Array(8).keys()].map((n) => apply(content(image(n + 100)))))
    expect(all.map(({ version }) => version).toSorted((a, b) => a - b)).to.deep.equal([3, 4, 5, 6, 7, 8, 9, 10])
    expect(await storeVersion(db, 1, { content: {}, source: 'command', operator: null, note: null })).to.equal(null)
  })

  it('are rolled back by a version with the content of the earlier one', async () => {
    await apply(content(image(40)))
    await apply(content(image(50)))
    const back = await rollBack(db, { version: 1, operator: null, note: null, expect: 2 })
    expect(back).to.include({ is: 'applied', version: 3 })
    expect(await current()).to.deep.include({ content: content(image(40)), note: 'Back to version 1.' })
    expect(await rollBack(db, { version: 1, operator: null, note: null, expect: null })).to.include({ is: 'unchanged' })
    expect(await rollBack(db, { version: 9, operator: null, note: null, expect: null })).to.equal(null)
    const actions = await db('operator_actions').orderBy('id').select<{ action: string }[]>('action')
    const due = ['catalogue_applied', 'catalogue_applied', 'catalogue_rolled_back']
    expect(actions.map(({ action }) => action)).to.deep.equal(due)
  })

  it('keep what an operator changed until the file changes, and then take the file', async () => {
    expect(await applyFile(db, content(image(40)))).to.equal(1)
    await apply(content(image(50)))
    expect(await applyFile(db, content(image(40)))).to.equal(null)
    expect((await current()).version).to.equal(2)
    // The file now says what the operator has: from here on that is what it said last.
    expect(await applyFile(db, content(image(50)))).to.equal(3)
    await apply(content(image(60)))
    expect(await applyFile(db, content(image(50)))).to.equal(null)
    expect(await applyFile(db, content(image(70)))).to.equal(5)
  })

  describe('in a process', () => {
    const holders: CatalogueHolder[] = []
    afterEach(() => holders.splice(0).forEach((holder) => holder.stop()))
    const open = async (): Promise<CatalogueHolder> => {
      const holder = holdCatalogue({ db, log: createLog('silent', 'web'), secretOf: () => 'a key' })
      holders.push(holder)
      await holder.refresh()
      return holder
    }
    const creditsOf = ({ models }: Awaited<ReturnType<CatalogueHolder['at']>>) => models.get('sandbox-image')?.price

    it('are used after a check, with their number in every model', async () => {
      await apply(content(image(40)))
      const holder = await open()
      const first = holder.current()
      await apply(content(image(50)))
      expect(holder.current()).to.equal(first)
      await holder.refresh()
      expect(holder.version()).to.equal(2)
      expect(creditsOf(holder.current())).to.deep.equal({ credits: 50 })
      expect(holder.current().models.get('sandbox-image')!.version).to.equal(2)
      expect(creditsOf(first), 'a request keeps the version that it began with').to.deep.equal({ credits: 40 })
    })

    it('are read for a call with one that this process has not seen, earlier or later', async () => {
      await apply(content(image(40)))
      await apply(content(image(50)))
      const holder = await open()
      await apply(content(image(60)))
      expect(creditsOf(await holder.at(1))).to.deep.equal({ credits: 40 })
      expect(creditsOf(await holder.at(3))).to.deep.equal({ credits: 60 })
      expect(holder.version()).to.equal(2)
      expect(await holder.at(1), 'it is kept').to.equal(await holder.at(1))
    })

    it('are cached, unlike missing or unusable ones, which are read again each time', async () => {
      await apply(content(image(40)))
      const holder = await open()
      const unusable = (version: number) => holder.at(version).catch((error: unknown) => error)
      expect(await unusable(2)).to.be.an.instanceOf(UnusableVersion)
      // As a later release may store it.
      await storeVersion(db, 1, { content: { shape: 'new' }, source: 'command', operator: null, note: null })
      expect(await unusable(2)).to.be.an.instanceOf(UnusableVersion)
      await holder.refresh()
      expect(holder.version(), 'the last one that can be used stays in use').to.equal(1)
      expect((await open()).version(), 'and is what a process starts with').to.equal(1)
      await apply(content(image(60)))
      await holder.refresh()
      expect(holder.version()).to.equal(3)
    })

    it('are waited for if there is none yet, and nothing is served meanwhile', async () => {
      const holder = await open()
      expect(holder.version()).to.equal(null)
      expect(() => holder.current())
        .to.throw(ApiError)
        .with.property('code', 'service_unavailable')
      await apply(content(image(40)))
      await until('the process to find it by itself', () => holder.version() === 1)
      expect(creditsOf(holder.current())).to.deep.equal({ credits: 40 })
    })
  })
})
