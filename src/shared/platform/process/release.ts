/** Which release this is. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The version in the package.json above this file, of the sources and of the build alike. */
function read(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    if (folder === dirname(folder)) return '0.0.0'
  }
}

/** The release of this process: `0.2.0`. */
export const RELEASE = read()

const numbersOf = (release: string): number[] => release.split(/[.-]/, 3).map((part) => Number.parseInt(part, 10) || 0)

/** Whether a release is later than another. What follows the third number is ignored. */
export function isLater(release: string, than: string): boolean {
  const [ours, theirs] = [numbersOf(release), numbersOf(than)]
  const at = ours.findIndex((number, index) => number !== theirs[index])
  return at >= 0 && ours[at]! > (theirs[at] ?? 0)
}
