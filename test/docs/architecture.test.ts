import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { pages } from './pages.ts'

/** The most files that somebody who follows one chat should have to open. */
const MOST_FILES = 120

describe('docs/architecture.md', () => {
  const page = pages().find(({ path }) => path === 'docs/architecture.md')!.text
  const [section = ''] = /^## The files of one chat\n[^]*?(?=^## )/m.exec(page) ?? []
  const listed = Array.from(section.matchAll(/^- `([^`]+)`: \S/gm), ([, file]) => file!)

  it('lists the files of one chat, each once, and all of them exist', () => {
    expect(new Set(listed).size).to.equal(listed.length)
    expect(listed.filter((file) => !existsSync(join(root, file)))).to.deep.equal([])
  })

  it('says how many they are, and they are few', () => {
    expect(section).to.include(`: ${listed.length} files`)
    expect(listed.length).to.be.within(40, MOST_FILES)
  })
})
