import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

/** A source file: its path from the root of the checkout, its text, and its text without comments. */
export type Source = { path: string; text: string; code: string }

/** Every TypeScript file below a folder of the checkout. */
export function sourcesOf(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return { path, text, code: withoutComments(text) }
    })
}

/** Line numbers stay the same. `//` counts as a comment only if it cannot be part of an address. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' ')).replace(/(^|\s)\/\/.*$/gm, '$1')
}

/** Where a pattern stands in the code of files, as `path:line text`. */
export function places(sources: Source[], pattern: RegExp): string[] {
  return sources.flatMap(({ path, code }) =>
    code
      .split('\n')
      .flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1} ${line.trim().slice(0, 120)}`] : [])),
  )
}
