import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { importCommands } from '../../../src/admin/commands/import.ts'
import { createKeyLookup } from '../../../src/shared/identity/key-lookup.ts'
import type { ImportReport } from '../../../src/shared/operators/import/report.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { commandsOver } from '../../support/commands.ts'
import { SECRETS, fixture, reasons, useImports } from './reading.ts'

describe('admin import', () => {
  const { state, file, path } = useImports()
  const over = () => commandsOver<ImportReport>(state, importCommands)

  it('reports, imports and repeats exactly, and shows or stores no secret', async () => {
    const source = file('one-api.db', fixture('one-api.sql'))
    const rules = path('rules.json')
    writeFileSync(rules, JSON.stringify({ creditsPerDollar: 1000 }))
    const run = async (options = {}) =>
      over().run('import', ['one-api', source], { rules, name: 'the old one', ...options })
    const { json: planned, text } = await run()
    expect(text.split('\n')[0]).to.equal(
      'Nothing was written: this is what --apply would import from the old one (one-api).',
    )
    expect(await state.db('import_sources')).to.deep.equal([])
    const { json: done } = await run({ apply: 'yes', out: path('draft-of-command') })
    expect(done).to.deep.include({ ...planned, applied: true })
    expect(done).to.deep.include({
      users: { found: 4, new: 4, known: 0, turnedOff: 1, withoutLogin: 2 },
      keys: { found: 4, new: 4, known: 0, turnedOff: 2 },
      budgets: 2,
      credits: { theirs: { amount: '9007199256475554', unit: 'quota' }, before: '0', granted: '3468', after: '3468' },
    })
    expect(reasons(done.exceptions)).to.include.members([
      'balance 1: 18014398509481 credits of this user are above the maximum of a grant: nothing is granted',
      'operator 1: operator roles are not imported: use admin account role',
      'balance 3: it is negative (-1 credits) and becomes 0',
      'group 2: the catalogue has no group "vip": apply one that has, then use admin account group',
    ])
    const { json: again } = await run({ apply: 'yes' })
    expect(again.credits).to.include({ before: '3468', granted: '0', after: '3468' })
    const stored = ['users', 'api_keys', 'import_origins', 'operator_actions'].map((table) => state.db(table))
    const seen = `${text}${JSON.stringify([done, ...(await Promise.all(stored))])}`
    expect(seen.replaceAll(/"secret_\w+"|\$2a\$10\$[^"]+/g, '')).not.to.match(SECRETS)
    const key = `sk-${'A'.repeat(44)}aaa1`
    expect((await createKeyLookup(state.db).find(key, ''))?.keyId).to.be.a('string')
    await expectBooksToBalance(state.db)
  })

  it('refuses a gateway, a name or options that cannot be', async () => {
    const { refusal } = over()
    for (const [args, options, sentence] of [
      [['one-hub', 'x'], {}, /^The gateway must be one of litellm, new-api, one-api\.$/],
      [['one-api', 'x'], { 'with-secrets': 'yes' }, /^--with-secrets needs --out\.$/],
      [['one-api', 'x'], { name: ' ' }, /^--name must not be empty\.$/],
      [['litellm', 'x'], { name: 'the old one' }, /^"the old one" was imported from one-api: choose another --name\.$/],
    ] as const) {
      expect(await refusal('import', [...args], options)).to.match(sentence)
    }
  })
})
