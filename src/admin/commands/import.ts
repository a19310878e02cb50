/** import */
import type { z } from 'zod'
import { IMPORT_KINDS } from '../../shared/operators/import/plan.ts'
import type { Listed } from '../../shared/operators/import/plan.ts'
import { gatewayOf } from '../../shared/identity/import-origins.ts'
import type { ImportReport } from '../../shared/operators/import/report.ts'
import { exceptionLines, reportText, runImport } from '../../shared/operators/import/report.ts'
import { label } from '../../shared/platform/text-fields.ts'
import type { Command, Report } from '../command.ts'
import { CommandError } from '../command.ts'
import { textOf } from '../fields.ts'
import { readPlan, readRules, writeDraft } from '../import/read.ts'

/** The files of a draft, the variables that it needs, and what of the source it leaves out. */
type Draft = { files: string[]; variables: string[]; listed: Listed[] }

/** Importing from other gateways. */
export const importCommands: Command[] = [
  {
    usage:
      `import ${IMPORT_KINDS.join('|')} <source> [--apply] [--rules <file>] [--name <name>] [--out <folder>] ` +
      '[--with-secrets]',
    summary:
      'Report what would be imported from another gateway: a Postgres, MySQL or SQLite database, or a folder of JSON ' +
      'lines. --apply imports it; again, only the difference. --out writes a draft of a catalogue.',
    options: ['rules', 'name', 'out'],
    flags: ['apply', 'with-secrets'],
    run: async (db, [named = '', from = ''], options) => {
      const kind = IMPORT_KINDS.find((one) => one === named)
      if (!kind) throw new CommandError(`The gateway must be one of ${IMPORT_KINDS.join(', ')}.`)
      const withSecrets = options['with-secrets'] !== undefined
      if (withSecrets && options.out === undefined) throw new CommandError('--with-secrets needs --out.')
      const name = textOf('--name', NAME, options.name ?? kind)
      const before = await gatewayOf(db, name)
      if (before !== null && before !== kind) {
        throw new CommandError(`"${name}" was imported from ${before}: choose another --name.`)
      }
      const rules = await readRules(options.rules, db)
      const plan = await readPlan(kind, from, rules)
      const draft =
        options.out === undefined ? null : await writeDraft(kind, from, rules, { folder: options.out, withSecrets })
      return imported(await runImport(db, { name, gateway: kind }, plan, options.apply !== undefined), draft)
    },
  },
]

const NAME: z.ZodType<string> = label(60)

function imported(report: ImportReport, draft: Draft | null): Report {
  if (!draft) return { json: report, text: reportText(report) }
  const { files, variables, listed } = draft
  const text = [
    reportText(report),
    `Draft of a catalogue: ${files.join(', ')}`,
    `Variables to set: ${variables.length === 0 ? 'none' : variables.join(', ')}`,
    ...exceptionLines(listed, 'the draft'),
  ]
  return { json: { ...report, draft: { files, variables, exceptions: listed } }, text: text.join('\n') }
}
