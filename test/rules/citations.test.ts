import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { faultOf, pages } from '../docs/pages.ts'
import type { Page } from '../docs/pages.ts'

/** Papers that readers of this repository do not have. */
const ELSEWHERE =
  /\b(?:contract|design)\W{1,3}sections?\b|\bspecification\W{1,3}"|\bresearch\/|\breliability\W{1,3}(?:part|\d)/i

/** A page of this repository that a text names, and perhaps an anchor of it. `test/docs` checks links. */
const CITED = /(?<![\w/.-]|\]\()((?:docs\/[\w/-]+|README|CONTRIBUTING)\.md)(?:#([\w-]+))?/g

/**
 * Every text that may cite a page: whole source files of all kinds, since test titles and messages may cite too.
 */
function texts(): Page[] {
  const folders = ['src', 'sandbox', 'test', 'scripts', 'bench', 'migrations', 'sql']
  const files = execFileSync('git', ['ls-files', '--', ...folders, '*.cjs', '*.yml', 'Dockerfile'], {
    cwd: root,
    encoding: 'utf8',
  })
  const isText = (path: string): boolean => /(?:\.(?:tsx?|m?js|cjs|sql|css|html|yml)|Dockerfile)$/.test(path)
  return [
    ...files
      .trim()
      .split('\n')
      .filter(isText)
      .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
    ...pages(),
  ]
}

describe('citations', () => {
  const all = texts().filter(({ path }) => path !== 'test/rules/citations.test.ts')

  it('name pages and anchors of this repository that exist', () => {
    const cited = all.flatMap(({ path, text }) =>
      Array.from(text.matchAll(CITED), ([, page, anchor]) => ({ from: path, fault: faultOf(page!, anchor) })),
    )
    expect(cited.length).to.be.greaterThan(40)
    expect(cited.filter(({ fault }) => fault !== null)).to.deep.equal([])
  })

  it('name nothing that a reader of this repository cannot open', () => {
    const lost = all.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, at) => (ELSEWHERE.test(line) ? [`${path}:${at + 1} ${line.trim().slice(0, 120)}`] : [])),
    )
    expect(lost).to.deep.equal([])
  })

  it('are noticed where they are wrong', () => {
    expect(faultOf('docs/no-such-page.md', undefined)).to.equal('docs/no-such-page.md does not exist')
    expect(faultOf('docs/money.md', 'no-such-rule')).to.equal('docs/money.md has no anchor #no-such-rule')
    expect(faultOf('docs/money.md', 'debt')).to.equal(null)
    expect(ELSEWHERE.test('the limits (con' + 'tract section 4)')).to.equal(true)
    expect(ELSEWHERE.test('written by its specification')).to.equal(false)
  })
})
