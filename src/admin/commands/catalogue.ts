/** catalogue show · check · diff · apply · history · rollback */
import type { Applied } from '../../shared/operators/catalogue-changes.ts'
import { applyCatalogue, judgeCatalogue, rollBack } from '../../shared/operators/catalogue-changes.ts'
import { diffCatalogues, diffText } from '../../shared/catalogue/diff.ts'
import type { Fault } from '../../shared/catalogue/faults.ts'
import { BadCatalogue, faultText } from '../../shared/catalogue/faults.ts'
import { hasMasks, maskedCatalogue } from '../../shared/catalogue/header-masks.ts'
import { marginFaults } from '../../shared/catalogue/margins.ts'
import type { PricedCatalogue } from '../../shared/catalogue/margins.ts'
import { announceFromCommand } from '../../shared/catalogue/holder.ts'
import { readCatalogueFile, warningsOf } from '../../shared/catalogue/parse.ts'
import type { StoredVersion } from '../../shared/catalogue/versions.ts'
import { MAX_NOTE, listVersions, readVersion } from '../../shared/catalogue/versions.ts'
import { secretsOf } from '../../shared/platform/config/config.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { line } from '../../shared/platform/text-fields.ts'
import { QUEUES } from '../../shared/terms/kinds.ts'
import type { Command, Options, Report } from '../command.ts'
import { CommandError } from '../command.ts'
import { textOf } from '../fields.ts'

/** The most versions that are listed. */
const LISTED = 1000

/** The catalogue and its versions. */
export const catalogueCommands: Command<object>[] = [
  {
    usage: 'catalogue show',
    summary: 'Show the current version of the catalogue.',
    run: async (db) => {
      const { content: stored, source: _source, ...about } = await currentOf(db)
      const content = maskedCatalogue(stored)
      return { json: { ...about, catalogue: content }, text: JSON.stringify(content, null, 2) }
    },
  },
  {
    usage: 'catalogue check <file>',
    summary: 'Check a catalogue: print every fault with its path, and every cost above its price. Exits with 1 if any.',
    run: (db, [file = '']) =>
      withFaults(async () => {
        const given = readCatalogueFile(file)
        // Only the value behind a mask is in the database: any other file is checked without one.
        return judged(checked(given, hasMasks(given) ? await readVersion(db, 'newest') : null))
      }),
  },
  {
    usage: 'catalogue diff <file>',
    summary: 'Show what a catalogue would change, model by model.',
    run: (db, [file = '']) =>
      withFaults(async () => {
        const current = await readVersion(db, 'newest')
        const changes = diffCatalogues(current?.content, checked(readCatalogueFile(file), current))
        return { json: { version: current?.version ?? 0, changes }, text: diffText(changes) || 'No changes.' }
      }),
  },
  {
    usage: 'catalogue apply <file> [--note …] [--expect <version>] [--force]',
    summary:
      'Apply a catalogue as a new version; with --expect, only if that version is still the current one; with ' +
      '--force, although open tasks need a key that it removes.',
    options: ['note', 'expect'],
    flags: ['force'],
    run: (db, [file = ''], options) =>
      withFaults(async () => {
        const content = readCatalogueFile(file)
        const why = { source: 'command', operator: null, ...guardOf(options) } as const
        const applied = await applyCatalogue(db, { content, ...why })
        return { ...(await reportOf(applied)), warnings: applied.is === 'applied' ? warningTexts(content) : [] }
      }),
  },
  {
    usage: 'catalogue history',
    summary: 'List the versions of the catalogue, newest first.',
    run: async (db) => {
      const versions = await listVersions(db, LISTED)
      const history = versions.map(({ version, appliedAt, by, note }) => ({ version, appliedAt, by, note }))
      const lines = history.map(({ version, appliedAt, by, note }) => `${version}  ${appliedAt}  ${by}  ${note ?? ''}`)
      return { json: history, text: lines.map((line) => line.trimEnd()).join('\n') || 'There is no version yet.' }
    },
  },
  {
    usage: 'catalogue rollback <version> [--note …] [--expect <version>] [--force]',
    summary: 'Apply an earlier version again, as a new version.',
    options: ['note', 'expect'],
    flags: ['force'],
    run: (db, [text], options) =>
      withFaults(async () => {
        const version = versionOf('The version', text)
        const applied = await rollBack(db, { version, operator: null, ...guardOf(options) })
        if (!applied) throw new CommandError(`There is no version ${version} of the catalogue.`)
        return reportOf(applied)
      }),
  },
]

async function currentOf(db: Db): Promise<StoredVersion> {
  const current = await readVersion(db, 'newest')
  if (!current) throw new CommandError('There is no catalogue in the database: run migrate.')
  return current
}

/** The content of a file, after `current`. @throws BadCatalogue with every fault. */
function checked(given: unknown, current: StoredVersion | null): unknown {
  const { content, faults } = judgeCatalogue(given, current?.content)
  if (faults.length > 0) throw new BadCatalogue(faults)
  return content
}

/** Complaints about a catalogue that could be applied: costs that exceed their prices, and warnings. */
function judged(content: unknown): Report {
  const losses = marginFaults(content as PricedCatalogue)
  if (losses.length > 0) return faulty(losses, 'sells below its cost')
  return { json: { faults: [] }, text: 'The catalogue is valid.', warnings: warningTexts(content) }
}

const warningTexts = (content: unknown): string[] =>
  warningsOf(content, secretsOf(QUEUES)).map((one) => `Warning: ${faultText([one])}.`)

/** Does what reads a catalogue; its faults are an answer. */
async function withFaults(work: () => Promise<Report>): Promise<Report> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BadCatalogue) return faulty(error.faults, 'is not valid')
    throw error
  }
}

const faulty = (faults: readonly Fault[], what: string): Report => ({
  json: { faults },
  text: faultText(faults),
  complaint: `The catalogue ${what}: ${faults.length === 1 ? '1 fault' : `${faults.length} faults`}.`,
})

/** The values of `--note`, `--expect` and `--force`. */
function guardOf({ note, expect, force }: Options): { note: string | null; expect: number | null; force: boolean } {
  return {
    note: note === undefined ? null : textOf('--note', line(MAX_NOTE), note),
    expect: expect === undefined ? null : versionOf('--expect', expect),
    force: force !== undefined,
  }
}

function versionOf(what: string, text: string | undefined): number {
  if (!/^\d{1,9}$/.test(text ?? ''))
    throw new CommandError(`${what} must be the number of a version, as "catalogue history" lists them.`)
  return Number(text)
}

/** Reports what was applied, after announcing it to every process. */
async function reportOf(applied: Applied): Promise<Report> {
  const { version } = applied
  if (applied.is === 'unchanged') {
    return { json: { version, changes: [] }, text: `No changes: version ${version} has the same content.` }
  }
  const changes = diffText(applied.changes)
  if (applied.is === 'conflict') {
    return {
      json: { conflict: true, version, changes: applied.changes },
      text: changes,
      complaint: `conflict: the current version is ${version}, applied by ${applied.by || 'nobody'}.`,
    }
  }
  const isAnnounced = await announceFromCommand(version)
  const late = isAnnounced ? '' : '\nRedis is unreachable: processes will use it within 10 s.'
  return {
    json: { version, changes: applied.changes },
    text: `${changes}\nVersion ${version} is now the current one.${late}`.trim(),
  }
}
