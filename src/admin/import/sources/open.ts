/** Opens whatever an argument `<source>` names. */
import { statSync } from 'node:fs'
import { sentenceOf } from '../../../shared/platform/process/log.ts'
import { CommandError } from '../../command.ts'
import { openFolder } from './json-lines.ts'
import type { Source } from './source.ts'

/** The file or folder that a source names; null for an address of a server. */
const pathOf = (source: string): string => source.replace(/^(?:sqlite3?|file):(?:\/\/)?/, '')

/** Loads the driver that the source needs, and no other. */
async function opened(source: string): Promise<Source> {
  if (/^postgres(?:ql)?:\/\//.test(source)) return (await import('./postgres.ts')).openPostgres(source)
  if (/^(?:mysql|mariadb):\/\//.test(source)) return (await import('./mysql.ts')).openMysql(source)
  const path = pathOf(source)
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found)
    throw new CommandError(
      'The source is neither an address (postgres://…, mysql://…) nor an existing file of SQLite or folder of tables.',
    )
  return found.isDirectory() ? openFolder(path) : (await import('./sqlite.ts')).openSqlite(path)
}

/** A failure of a source, without the password of its address. */
export const sourceFailure = (error: unknown): CommandError =>
  error instanceof CommandError ? error : new CommandError(`The source cannot be read: ${sentenceOf(error)}.`)

/** Opens a source for `work`, and closes it. @throws CommandError if it cannot be opened */
export async function withSource<Result>(source: string, work: (open: Source) => Promise<Result>): Promise<Result> {
  const open = await opened(source).catch((error: unknown) => {
    throw sourceFailure(error)
  })
  try {
    return await work(open)
  } finally {
    await open.close().catch(() => {})
  }
}
