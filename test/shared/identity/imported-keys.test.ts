import { expect } from 'chai'
import { createKeyLookup } from '../../../src/shared/identity/key-lookup.ts'
import { spellingsOf } from '../../../src/shared/identity/imported-keys.ts'
import { runImport } from '../../../src/shared/operators/import/report.ts'
import { anImportedKey, aPlan, aPlannedUser } from '../operators/import/plans.ts'
import { useDb } from '../../support/database.ts'

const KEY = 'k'.repeat(48)

describe('the spellings of a key of another gateway', () => {
  const CASES: [text: string, ofLitellm: string[], ofNewApi: string[]][] = [
    [`sk-${KEY}`, [`sk-${KEY}`], [`sk-${KEY}`]],
    [KEY, [], [`sk-${KEY}`]],
    [`sk-${KEY}-17`, [`sk-${KEY}-17`], [`sk-${KEY}-17`, `sk-${KEY}`]],
    [`${KEY}-17`, [], [`sk-${KEY}`]],
    [`sk-${KEY}-17-x`, [`sk-${KEY}-17-x`], [`sk-${KEY}-17-x`, `sk-${KEY}`]],
    ['sk-a_b-0123456789abcdef', ['sk-a_b-0123456789abcdef'], ['sk-a_b-0123456789abcdef']],
    [`sk-${'k'.repeat(15)}`, [], []],
    [`sk-${'k'.repeat(128)}`, [`sk-${'k'.repeat(128)}`], [`sk-${'k'.repeat(128)}`]],
    [`sk-${'k'.repeat(129)}`, [], []],
    [`sk-${'k'.repeat(100)}-${'1'.repeat(28)}`, [], []],
    [`SK-${KEY}`, [], []],
    [`sk-${KEY}.`, [], []],
    [`tg_${'k'.repeat(40)}`, [], []],
    ['', [], []],
  ]
  for (const [text, ofLitellm, ofNewApi] of CASES) {
    it(`are bounded: ${text === '' ? 'of nothing' : text.slice(0, 60)} (${text.length})`, () => {
      expect(spellingsOf(text, { any: false, suffixed: false })).to.deep.equal([])
      expect(spellingsOf(text, { any: true, suffixed: false })).to.deep.equal(ofLitellm)
      expect(spellingsOf(text, { any: true, suffixed: true })).to.deep.equal(ofNewApi)
    })
  }
})

describe('the look-up of keys of other gateways', () => {
  const db = useDb({ isOwn: true })

  it('costs one query a second until one is imported, and then finds each in all its spellings', async () => {
    const clock = { at: 0, now: () => clock.at }
    const keys = createKeyLookup(db, clock)
    const found = async (...texts: string[]) =>
      Promise.all(texts.map(async (text) => (await keys.find(text, '192.0.2.1'))?.keyId))
    const statements: string[] = []
    db.on('query', ({ sql }: { sql: string }) => statements.push(sql))
    const guesses = Array.from({ length: 50 }, (_, nth) => `sk-${KEY}${nth}`)
    expect(new Set(await found(...guesses))).to.deep.equal(new Set([undefined]))
    expect(await found(`tg_${'k'.repeat(40)}`, 'sk-short', KEY)).to.deep.equal([undefined, undefined, undefined])
    expect(statements).to.have.lengthOf(1)

    const users = [aPlannedUser('1')]
    const source = { name: 'old', gateway: 'new-api' }
    await runImport(db, source, aPlan({ users, keys: [anImportedKey('1', `sk-${KEY}`)] }), true)
    clock.at += 1000
    const texts = [`sk-${KEY}`, KEY, `sk-${KEY}-3`, `${KEY}-`]
    const { id } = await db('api_keys').first<{ id: string }>('id')
    expect(await found(...texts)).to.deep.equal(texts.map(() => id))
    expect(keys.recent(`${KEY}-`, '192.0.2.1')?.keyId).to.equal(id)
    const due = [undefined, undefined, undefined]
    expect(await found(`sk-${KEY}x`, `sk-${KEY.slice(1)}-3`, `-${KEY}`)).to.deep.equal(due)
  })
})
