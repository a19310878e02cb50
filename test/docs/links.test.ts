import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { anchorsOf, faultOf, pages } from './pages.ts'

/** The most files that somebody who follows one chat should have to open. */
const MOST_FILES = 120

describe('the documentation', () => {
  it('links to pages, headings and pictures that exist', () => {
    const links = pages().flatMap(({ path, text }) =>
      Array.from(text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g), ([, target, anchor]) => {
        const to = target === '' ? path : normalize(join(path, '..', target!))
        return { from: path, fault: faultOf(to, anchor) }
      }),
    )
    expect(links.length).to.be.greaterThan(40)
    expect(links.filter(({ fault }) => fault !== null)).to.deep.equal([])
  })

  it('is linked completely from README.md, a folder from its own README.md', () => {
    const all = pages()
    const textOf = (page: string): string => all.find(({ path }) => path === page)?.text ?? ''
    const isLinked = (path: string): boolean =>
      textOf('README.md').includes(`](${path})`) ||
      textOf(join(dirname(path), 'README.md')).includes(`](${basename(path)})`)
    const unlinked = all.map(({ path }) => path).filter((path) => path !== 'README.md' && !isLinked(path))
    expect(unlinked).to.deep.equal([])
  })

  it('names files that exist', () => {
    const named = pages().flatMap(({ path, text }) =>
      Array.from(text.matchAll(/`((?:src|migrations|test|sql|scripts|bench)\/[\w/.-]*)`/g), ([, file]) => ({
        path,
        file: file!,
      })),
    )
    expect(named.length).to.be.greaterThan(40)
    // The walk-through has the reader write this one.
    const missing = named.filter(({ file }) => file !== 'src/api/operator/grants.ts' && !existsSync(join(root, file)))
    expect(missing).to.deep.equal([])
  })

  it('names tests of guarantees that exist', () => {
    const { text } = pages().find(({ path }) => path === 'docs/guarantees.md')!
    const [promises = ''] = text.split('## How it is tested')
    const named = Array.from(promises.matchAll(/`([a-z]+(?:\/[\w-]+)+)`/g), ([, name]) => `test/${name}.test.ts`)
    expect(named.length).to.be.greaterThan(40)
    expect(named.filter((file) => !existsSync(join(root, file)))).to.deep.equal([])
  })

  it('lists the files of one chat, each once, which exist, says how many they are, and they are few', () => {
    const { text } = pages().find(({ path }) => path === 'docs/architecture.md')!
    const [section = ''] = /^## The files of one chat\n[^]*?(?=^## )/m.exec(text) ?? []
    const listed = Array.from(section.matchAll(/^- `([^`]+)`: \S/gm), ([, file]) => file!)
    expect(new Set(listed).size).to.equal(listed.length)
    expect(listed.filter((file) => !existsSync(join(root, file)))).to.deep.equal([])
    expect(section).to.include(`: ${listed.length} files`)
    expect(listed.length).to.be.within(40, MOST_FILES)
  })

  it('computes the anchor of a heading as GitHub does', () => {
    const page = '# One\n## What I\'d say: `a_b`, [two](x.md) & 3\n<a id="four"></a>\n```sh\n# no heading\n```\n'
    expect([...anchorsOf(page)]).to.deep.equal(['one', 'what-id-say-a_b-two--3', 'four'])
  })
})
