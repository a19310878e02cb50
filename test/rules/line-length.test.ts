import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

const LIMIT = 120

/** A dump: Postgres decides where its lines end. */
const GENERATED = 'migrations/schema.sql'

/** Lines over the limit, counted in characters. An address may make a line longer: it cannot be split. */
function longLines(text: string): number[] {
  return text
    .split('\n')
    .flatMap((line, at) => (Array.from(line).length > LIMIT && !/https?:\/\/\S{60}/.test(line) ? [at + 1] : []))
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

  it('are noticed where they have more', () => {
    const long = 'x'.repeat(LIMIT + 1)
    expect(longLines(`short\n${'é'.repeat(LIMIT)}\n${long}\n// ${long}\nhttps://example.com/${long}`)).to.deep.equal([
      3, 4,
    ])
  })
})
