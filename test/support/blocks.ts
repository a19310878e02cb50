import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

/** A block of a text file of tests: what is behind its `===`, and its lines. */
export type Block = { head: string; lines: string[] }

/** The blocks of a file, named from the root of the repository. `change` edits its text before. */
export const blocksIn = (file: string, change = (text: string) => text): Block[] =>
  change(readFileSync(join(root, file), 'utf8'))
    .split(/^=== /m)
    .slice(1)
    .map((block) => {
      const [head = '', ...lines] = block.trimEnd().split('\n')
      return { head, lines }
    })
