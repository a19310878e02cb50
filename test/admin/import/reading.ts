/** What the tests of imports share: databases of other gateways, and how what is read of them is written down. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import sqlite from 'node-sqlite3-wasm'
import { root } from '../../../scripts/folders.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { CommandError } from '../../../src/admin/command.ts'
import { catalogueCommands } from '../../../src/admin/commands/catalogue.ts'
import { exactOf } from '../../../src/admin/import/exact.ts'
import type { ImportRules } from '../../../src/admin/import/read.ts'
import type { Listed } from '../../../src/shared/operators/import/plan.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'

/** What no report, draft or error may show: keys, hashes of passwords, and whatever the fixtures call a secret. */
export const SECRETS = /secret|sk-(?:upstream|pool|deep|router|plain)|[A-Z]{40}|\$2a\$/

/** Rules of an import. */
export const rules = (creditsPerDollar: string, grant: ImportRules['grant'] = null): ImportRules => ({
  creditsPerDollar: exactOf(creditsPerDollar)!,
  grant,
})

/** The exceptions, a line each. */
export const reasons = (listed: readonly Listed[]): string[] =>
  listed.map(({ what, theirId, reason }) => `${what} ${theirId}: ${reason}`)

/** Fields of rows, a line each. */
export const lines = <Row extends object>(rows: readonly Row[], ...fields: (keyof Row)[]): string[] =>
  rows.map((row) => fields.map((field) => textOf(row[field])).join(' | '))

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? Object.values(value).map(textOf).join(' ')
    : value instanceof Date
      ? value.toISOString()
      : String(value)

/** The sentence that a command fails with. */
export async function complaintOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(CommandError)
  return (error as Error).message
}

/** A file of this folder. */
export const fixture = (name: string): string => readFileSync(join(root, 'test/admin/import', name), 'utf8')

/** A folder, and a database of ours, for the tests of a suite. */
export function useImports() {
  const state = {} as { folder: string; db: Db; databaseUrl: string }
  before(async () => {
    state.folder = mkdtempSync(join(tmpdir(), 'tollgate-import-'))
    state.databaseUrl = await newDatabaseUrl()
    state.db = connectTestDb({ DATABASE_URL: state.databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(async () => {
    rmSync(state.folder, { recursive: true })
    await state.db.destroy()
  })
  return {
    state,
    /** A place in the folder. */
    path: (name: string): string => join(state.folder, name),
    /** Creates a file of SQLite. */
    file: (name: string, sql: string): string => {
      const path = join(state.folder, name)
      const created = new sqlite.Database(path)
      created.exec(sql)
      created.close()
      return path
    },
    /** Expects a draft that the operator's own check accepts, and no secret in its public files. */
    expectDraft: async (out: string, expected: string): Promise<void> => {
      const check = catalogueCommands.find(({ usage }) => usage.startsWith('catalogue check'))!
      const report = await check.run(state.db, [join(out, 'catalogue.json')], {})
      expect(report.complaint, report.text).to.equal(undefined)
      const written = readFileSync(join(out, 'catalogue.json'), 'utf8')
      expect(JSON.parse(written)).to.deep.equal(JSON.parse(fixture(expected)))
      const files = readdirSync(out).filter((name) => name !== 'secrets.env')
      expect(files.map((name) => readFileSync(join(out, name), 'utf8')).join('')).not.to.match(SECRETS)
    },
  }
}
