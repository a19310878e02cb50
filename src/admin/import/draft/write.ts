/** Writes a draft to a folder: the catalogue, the names of its variables, and their values only on demand. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../command.ts'
import type { Draft } from './draft.ts'

/** Where a draft is written. `withSecrets`: with the values of the variables that are known. */
export type DraftFolder = { folder: string; withSecrets: boolean }

/** The files that were written, and the variables that must be set. */
export type WrittenDraft = { files: string[]; variables: string[] }

/** A value as a shell and `node --env-file` read it. */
const quotedValue = (value: string): string => (value.includes("'") ? JSON.stringify(value) : `'${value}'`)

/**
 * Writes `catalogue.json`, `variables.txt` and, with secrets, `secrets.env` with mode 0600. No file is overwritten: the
 * draft in it may have been edited.
 * @throws CommandError if one exists, or the folder cannot be written to
 */
export function writeFiles(content: unknown, { upstreams }: Draft, { folder, withSecrets }: DraftFolder): WrittenDraft {
  const keys = [...new Map([...upstreams.values()].flatMap((one) => one.keys.map((key) => [key.variable, key])))]
  const secrets = keys.flatMap(([variable, { secret }]) =>
    secret === null ? [] : [`${variable}=${quotedValue(secret)}\n`],
  )
  const variables = keys.map(([variable]) => variable)
  const contents: [name: string, content: string, mode: number][] = [
    ['catalogue.json', `${JSON.stringify(content, null, 2)}\n`, 0o644],
    ['variables.txt', variables.map((variable) => `${variable}=\n`).join(''), 0o644],
    ...(withSecrets ? [['secrets.env', secrets.join(''), 0o600] as [string, string, number]] : []),
  ]
  try {
    mkdirSync(folder, { recursive: true })
    for (const [name, written, mode] of contents) writeFileSync(join(folder, name), written, { flag: 'wx', mode })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandError(
      code === 'EEXIST'
        ? `--out: ${folder} already has a draft, which may have been edited. Name another folder.`
        : `--out: ${message}.`,
    )
  }
  return { files: contents.map(([name]) => join(folder, name)), variables }
}
