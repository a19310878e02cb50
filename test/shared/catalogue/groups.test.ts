import { expect } from 'chai'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { sandboxCatalogue } from '../../../scripts/harness/harness.ts'
import { offerTo } from '../../../src/shared/catalogue/catalogue.ts'
import type { Application, Applied } from '../../../src/shared/operators/catalogue-changes.ts'
import { applyCatalogue, applyFile, rollBack } from '../../../src/shared/operators/catalogue-changes.ts'
import { diffCatalogues, diffText } from '../../../src/shared/catalogue/diff.ts'
import { BadCatalogue, faultsOf } from '../../../src/shared/catalogue/faults.ts'
import { parseCatalogue } from '../../../src/shared/catalogue/parse.ts'
import { deleteAccount, setAccountGroup } from '../../../src/shared/operators/changes.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'

const content = (groups?: unknown) => ({
  ...sandboxCatalogue('http://127.0.0.1:9'),
  ...(groups !== undefined && { groups }),
})
const PARTNER = {
  priceBasisPoints: 8000,
  models: ['sandbox-chat', 'disabled-image'],
  rateLimit: 600,
  maxOutstanding: 50,
}

describe('the groups of a catalogue', () => {
  const read = (groups?: unknown) => parseCatalogue(content(groups), { version: 3, createdAt: 5 }, () => 'sk-made-up')

  it('have a share of every price, the models that they may see, and limits', () => {
    const catalogue = read({ partner: PARTNER, all: {} })
    const { offer, ...limits } = catalogue.groups.get('partner')!
    expect(limits).to.deep.equal({ rateLimit: 600, maxOutstanding: 50 })
    expect([...offer.models.keys()]).to.deep.equal(['sandbox-chat'])
    expect(offer.models.get('sandbox-chat')!.price).to.deep.equal({
      ...catalogue.models.get('sandbox-chat')!.price,
      priceBasisPoints: 8000,
    })
    expect(catalogue.models.get('sandbox-chat')!.price).not.to.have.property('priceBasisPoints')
    const all = catalogue.groups.get('all')!.offer
    expect([...all.models.keys()]).to.deep.equal([...catalogue.models.keys()])
    expect(all.models.get('sandbox-image')!.price, 'the same version').to.equal(
      catalogue.models.get('sandbox-image')!.price,
    )
  })

  it('are none where the catalogue says nothing, and one that it does not have is offered what all are', () => {
    const catalogue = read()
    expect(catalogue.groups.size).to.equal(0)
    expect(offerTo(catalogue, { group: null })).to.equal(catalogue)
    expect(offerTo(catalogue, { group: 'partner' })).to.equal(catalogue)
    expect(offerTo(read({ partner: PARTNER }), { group: 'constructor' }).models.size).to.equal(catalogue.models.size)
  })

  const BAD: [title: string, groups: unknown, path: string][] = [
    ['no share at all', { a: { priceBasisPoints: 0 } }, 'groups.a.priceBasisPoints'],
    ['more than ten times the price', { a: { priceBasisPoints: 100_001 } }, 'groups.a.priceBasisPoints'],
    ['a part of a basis point', { a: { priceBasisPoints: 0.5 } }, 'groups.a.priceBasisPoints'],
    ['a model that is not there', { a: { models: ['sandbox-chat', 'nope'] } }, 'groups.a.models[1]'],
    ['no model', { a: { models: [] } }, 'groups.a.models'],
    ['a model that is no text', { a: { models: [5] } }, 'groups.a.models[0]'],
    ['a rate of nothing', { a: { rateLimit: 0 } }, 'groups.a.rateLimit'],
    ['no open call', { a: { maxOutstanding: 0 } }, 'groups.a.maxOutstanding'],
    ['an unknown field', { a: { discount: 5 } }, 'groups.a.discount'],
    ['a name for none', { None: {} }, 'groups.None'],
    ['a name with spaces', { 'a b': {} }, 'groups.a b'],
    ['a list', [{}], 'groups'],
    ['too many', Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`g${at}`, {}])), 'groups'],
  ]
  for (const [title, groups, path] of BAD) {
    it(`are refused by their path: ${title}`, () => {
      expect(faultsOf(content(groups)).map((fault) => fault.path)).to.deep.equal([path])
    })
  }

  it('are parts of what differs between two versions', () => {
    const changes = diffCatalogues(
      content({ partner: PARTNER, old: {} }),
      content({ partner: { ...PARTNER, rateLimit: 5 } }),
    )
    expect(diffText(changes)).to.equal('~ group partner rateLimit: 600 → 5\n- group old: {}')
  })
})

describe('a version of the catalogue', () => {
  let db: Db
  beforeEach(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 10 })
  })
  afterEach(() => db.destroy())

  const apply = (given: unknown, more: Partial<Application> = {}): Promise<Applied> =>
    applyCatalogue(db, { content: given, source: 'command', operator: null, note: null, expect: null, ...more })
  const faultOf = (done: Promise<unknown>): Promise<string> =>
    done.then(
      () => 'applied',
      (error: unknown) => (error instanceof BadCatalogue ? error.message : String(error)),
    )
  const LOST = /groups\.partner: is missing, and 2 accounts are in it/

  it('is not applied where it loses the group of an account, by whatever way', async () => {
    await apply(content())
    await apply(content({ partner: PARTNER, idle: {} }))
    const [one, other] = [await anAccount(db), await anAccount(db)]
    for (const { id } of [one, other]) expect(await setAccountGroup(db, null, id, 'partner')).to.equal('done')
    expect(await faultOf(apply(content({ idle: {} })))).to.match(LOST)
    expect(await faultOf(applyFile(db, content()))).to.match(LOST)
    expect(await faultOf(rollBack(db, { version: 1, operator: null, note: null, expect: null }))).to.match(LOST)
    expect(await faultOf(apply(content({ partner: { priceBasisPoints: 1 } }))), 'an idle one').to.equal('applied')
    await setAccountGroup(db, null, one.id, null)
    await deleteAccount(db, null, { userId: other.userId, accountId: other.id, passwordHash: 'none' })
    expect(await faultOf(apply(content()))).to.equal('applied')
    expect(await setAccountGroup(db, null, one.id, 'partner')).to.equal('no_group')
    expect(await setAccountGroup(db, null, other.id, null), 'a deleted account').to.equal('no_account')
  })

  it('and the group of an account are changed one after the other', async () => {
    const { id } = await anAccount(db)
    const outcomes = new Set<string>()
    for (let round = 0; round < 15; round++) {
      await setAccountGroup(db, null, id, null)
      await apply(content({ partner: { priceBasisPoints: 5000 + round } }))
      const [applied, moved] = await Promise.all([
        faultOf(apply(content({ other: {} }))),
        setAccountGroup(db, null, id, 'partner'),
      ])
      expect([applied === 'applied', moved], applied).to.deep.equal([moved === 'no_group', moved])
      outcomes.add(moved)
    }
    expect(outcomes.size, [...outcomes].join()).to.be.above(0)
  })
})
