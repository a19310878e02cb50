import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

const LIMIT = 120

/** Whether a line is one of a comment. */
const isComment = (line: string): boolean => /^\s*(\/\/|\/\*|\*)/.test(line)

/** Lines of comments over the limit. The formatter keeps code within it; a text that cannot be split may be longer. */
function longComments(text: string): number[] {
  return text.split('\n').flatMap((line, at) => (line.length > LIMIT && isComment(line) ? [at + 1] : []))
}

describe('lines', () => {
  it(`of comments have at most ${LIMIT} characters`, () => {
    const long: string[] = []
    for (const folder of ['src', 'scripts', 'bench', 'test', 'migrations']) {
      for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
        if (!/\.(ts|tsx|mjs)$/.test(name)) continue
        const lines = longComments(readFileSync(join(root, folder, name), 'utf8'))
        long.push(...lines.map((line) => `${folder}/${name}:${line}`))
      }
    }
    expect(long).to.deep.equal([])
  })

  it('are noticed where they are longer', () => {
    const text = ` * ${'x'.repeat(LIMIT)}`
    expect(longComments(`short\n${text}\n// ${text}\nconst x = 1`)).to.deep.equal([2, 3])
  })
})
