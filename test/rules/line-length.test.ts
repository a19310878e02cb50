import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

const LIMIT = 120

/** Documents: lines other than rows of tables, and each cell of these. */
const PROSE_LIMIT = 160
const CELL_LIMIT = 200

/** A dump: Postgres decides where its lines end. */
const GENERATED = 'migrations/schema.sql'

/** Lines over the limit, counted in characters. An address may make a line longer: it cannot be split. */
function longLines(text: string): number[] {
  return text
    .split('\n')
    .flatMap((line, at) => (Array.from(line).length > LIMIT && !/https?:\/\/\S{60}/.test(line) ? [at + 1] : []))
}

/** Lines and cells of a document over their limit. Targets of links and backticks do not count: readers see neither. */
function longProse(text: string): number[] {
  return text
    .replace(/(?<=\])\([^)\s]*\)|`/g, '')
    .split('\n')
    .flatMap((line, at) => {
      const isRow = line.startsWith('|')
      const parts = isRow ? line.split('|').map((cell) => cell.trim()) : [line]
      return parts.some((part) => Array.from(part).length > (isRow ? CELL_LIMIT : PROSE_LIMIT)) ? [at + 1] : []
    })
}

describe('lines', () => {
  it(`have at most ${LIMIT} characters`, () => {
    const folders = ['src', 'sandbox', 'scripts', 'bench', 'test', 'sql', 'migrations']
    const files = execFileSync('git', ['ls-files', '--', ...folders], { cwd: root, encoding: 'utf8' })
      .trim()
      .split('\n')
    const long = files
      .filter((path) => /\.(tsx?|m?js|sql|css|html)$/.test(path) && path !== GENERATED)
      .flatMap((path) => longLines(readFileSync(join(root, path), 'utf8')).map((line) => `${path}:${line}`))
    expect(long).to.deep.equal([])
  })

  it(`of documents have at most ${PROSE_LIMIT} characters, cells of their tables ${CELL_LIMIT}`, () => {
    const documents = execFileSync('git', ['ls-files', '--', '*.md'], { cwd: root, encoding: 'utf8' })
      .trim()
      .split('\n')
    const long = documents.flatMap((path) =>
      longProse(readFileSync(join(root, path), 'utf8')).map((line) => `${path}:${line}`),
    )
    expect(long).to.deep.equal([])
  })

  it('are noticed where they have more', () => {
    const long = 'x'.repeat(LIMIT + 1)
    expect(longLines(`short\n${'é'.repeat(LIMIT)}\n${long}\n// ${long}\nhttps://example.com/${long}`)).to.deep.equal([
      3, 4,
    ])
    const [line, cell] = ['x'.repeat(PROSE_LIMIT), 'x'.repeat(CELL_LIMIT)]
    expect(longProse(`${line}\n${line}x\n| ${cell} | ${cell} |\n| a | ${cell}x |\n[a](${line})`)).to.deep.equal([2, 4])
  })
})
