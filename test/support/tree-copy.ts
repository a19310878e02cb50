import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

/** A text in one file, and its replacement. The text must occur there exactly once. */
export type Edit = { file: string; find: string; replace: string }

/** A copy of parts of the checkout, with the packages of the original. `remove` deletes it. */
export type TreeCopy = { folder: string; remove: () => void }

/** Copies parts of the checkout, in order to change them. */
export function copyTree(parts: readonly string[]): TreeCopy {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-copy-'))
  for (const part of parts) cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Makes edits in a copy, and returns what undoes them.
 * @throws if the text of one is not there: the sources have changed since it was written.
 */
export function editTree({ folder }: TreeCopy, name: string, edits: readonly Edit[]): () => void {
  const before = new Map(edits.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]))
  const after = new Map(before)
  for (const { file, find, replace } of edits) {
    const text = after.get(file)!
    if (text.split(find).length !== 2) throw new Error(`${name}: ${file} has changed; rewrite the edit`)
    after.set(
      file,
      text.replace(find, () => replace),
    )
  }
  const write = (files: Map<string, string>): void =>
    files.forEach((text, file) => writeFileSync(join(folder, file), text))
  write(after)
  return () => write(before)
}
