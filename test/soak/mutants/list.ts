import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesIn, root } from '../../../scripts/folders.ts'
import type { Mutant } from './mutant.ts'

/** The lines of code that begin with this mark, without it. */
const codeOf = (lines: readonly string[], mark: '-' | '+'): string =>
  lines
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(2))
    .join('\n')

function readMutant(text: string): Mutant {
  const [head = '', ...edits] = text.split(/^in /m)
  const [name = '', ...why] = head.trimEnd().split('\n')
  return {
    name,
    why: why.join(' '),
    edits: edits.map((edit) => {
      const [file = '', ...lines] = edit.split('\n')
      return { file, find: codeOf(lines, '-'), replace: codeOf(lines, '+') }
    }),
    tests: [...text.matchAll(/^found by (.+)$/gm)].flatMap(([, paths = '']) => paths.split(' ')),
  }
}

/**
 * All bugs that the tests must find, from the texts in this folder. Each has its name behind `#`, why it is one, its
 * edits, and the tests that find it: `in` names a file; `-` marks code that occurs there once, a part of a line or
 * several lines, and `+` what replaces it.
 */
export const MUTANTS: readonly Mutant[] = filesIn(join(root, 'test/soak/mutants'))
  .filter((file) => file.endsWith('.txt'))
  .toSorted()
  .flatMap((file) => readFileSync(file, 'utf8').split(/^# /m).slice(1).map(readMutant))
