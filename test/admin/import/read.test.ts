import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import sqlite from 'node-sqlite3-wasm'
import { readPlan, readRules } from '../../../src/admin/import/read.ts'
import { openPostgres } from '../../../src/admin/import/sources/postgres.ts'
import { SECRETS, complaintOf, fixture, rules, useImports } from './reading.ts'

describe('the sources and rules of an import', () => {
  const { state, path, file } = useImports()

  it('names the table or the column that is missing, with the supported versions', async () => {
    const bare = file('bare.db', 'CREATE TABLE users (id integer); INSERT INTO users VALUES (1)')
    expect(await complaintOf(readPlan('one-api', bare, rules('1')))).to.equal(
      'The table users has no column username: supported is one-api v0.6.10, and versions with the same columns.',
    )
    expect(await complaintOf(readPlan('litellm', bare, rules('1')))).to.equal(
      'The source has no table LiteLLM_UserTable: supported is litellm 1.80, and versions with the same columns.',
    )
  })

  it('reads a folder of JSON lines like a database, with bounded lines that are never shown', async () => {
    const dump = path('dump')
    const source = file('new-api.db', fixture('new-api.sql'))
    mkdirSync(dump)
    const open = new sqlite.Database(source, { readOnly: true })
    for (const table of ['users', 'tokens', 'options', 'top_ups'])
      writeFileSync(
        join(dump, `${table}.jsonl`),
        open
          .all(`SELECT * FROM ${table} ORDER BY 1`)
          .map((row) => `${JSON.stringify(row)}\n`)
          .join(''),
      )
    open.close()
    expect(await readPlan('new-api', dump, rules('1000'))).to.deep.equal(
      await readPlan('new-api', source, rules('1000')),
    )
    for (const [line, message] of [
      ['"a secret', 'line 1 is not an object in JSON'],
      [`{"id": "${'secret'.repeat(800_000)}"}`, 'line 1 is longer than 4194304 bytes'],
    ] as const) {
      writeFileSync(join(dump, 'users.jsonl'), line)
      const shown = await complaintOf(readPlan('new-api', dump, rules('1')))
      expect(shown).to.include(message).and.not.match(SECRETS)
    }
  })

  it('reads Postgres in batches, as it was at one moment', async () => {
    const { db } = state
    await db.raw('CREATE TABLE theirs AS SELECT id, 9007199254740993 + id AS quota FROM generate_series(1, 2500) id')
    const source = await openPostgres(state.databaseUrl)
    expect(await source.columns('theirs')).to.deep.equal(['id', 'quota'])
    await db.raw('DELETE FROM theirs WHERE id <= 2400')
    let sum = 0n
    for await (const { quota } of source.rows('theirs', ['id', 'quota'])) sum += BigInt(quota as string)
    await source.close()
    expect(sum).to.equal(9007199254740993n * 2500n + (2500n * 2501n) / 2n)
  })

  it('refuses sources that it cannot read, without the password of their address', async () => {
    writeFileSync(path('text.db'), 'no database '.repeat(100))
    const logged = file('logged.db', 'CREATE TABLE users (id integer)')
    writeFileSync(logged, readFileSync(logged).fill(2, 18, 20))
    const locked = file('locked.db', 'CREATE TABLE users (id integer)')
    mkdirSync(`${locked}.lock`)
    for (const [source, message] of [
      [locked, 'is locked'],
      [path('missing.db'), 'The source is neither an address'],
      [path('text.db'), 'The source cannot be read: file is not a database'],
      [logged, 'has a write-ahead log'],
      ['postgres://me:secret@127.0.0.1:1/db', 'The source cannot be read: connect ECONNREFUSED'],
      ['mysql://me:secret@127.0.0.1:1/db', 'The source cannot be read: connect ECONNREFUSED'],
    ] as const) {
      const shown = await complaintOf(readPlan('new-api', source, rules('1')))
      expect(shown, source).to.include(message).and.not.match(SECRETS)
    }
  })

  it('takes the worth of a credit from the rules, else from the catalogue', async () => {
    const stated = (content: object): string => {
      writeFileSync(path('rules.json'), JSON.stringify(content))
      return path('rules.json')
    }
    expect(await readRules(stated({ creditsPerDollar: 0.5, grant: 'max_budget - spend' }), state.db)).to.deep.equal({
      creditsPerDollar: { above: 5n, below: 10n },
      grant: 'rest',
    })
    expect(await complaintOf(readRules(stated({ grant: -1 }), state.db))).to.match(/^--rules: grant: /)
    expect(await complaintOf(readRules(stated({ credits: 1 }), state.db))).to.match(/^--rules: .*credits/)
    expect(await complaintOf(readRules(undefined, state.db))).to.match(/does not state "creditMicroUsd"/)
  })
})
