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

function readMutant(text: string, tests: string[]): Mutant {
  const [head = '', ...edits] = text.split(/^in /m)
  const [name = '', ...why] = head.trimEnd().split('\n')
  return {
    name,
    why: why.join(' '),
    edits: edits.map((edit) => {
      const [file = '', ...lines] = edit.split('\n')
      return { file, find: codeOf(lines, '-'), replace: codeOf(lines, '+') }
    }),
    tests,
  }
}

/** The bugs below a line that names the tests which find them. */
function readGroup(text: string): Mutant[] {
  const [first = '', ...bugs] = text.split(/^# /m)
  const tests = first.trim().split(' ').slice(2)
  return bugs.map((bug) => readMutant(bug, tests))
}

/**
 * All bugs that the tests must find, from the texts in this folder, below the tests that find them (`found by`). Each
 * has its name behind `#`, why it is one, and its edits: `in` names a file; `-` marks code that occurs there once, a
 * part of a line or several lines, and `+` what replaces it.
 */
export const MUTANTS: readonly Mutant[] = filesIn(join(root, 'test/soak/mutants'))
  .filter((file) => file.endsWith('.txt'))
  .toSorted()
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split(/^(?=found by )/m)
      .slice(1)
      .flatMap(readGroup),
  )
