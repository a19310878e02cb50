import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesIn, root } from '../../scripts/folders.ts'
import { MUTANTS } from './mutants/list.ts'

describe('the planted bugs', () => {
  it('are all read: those of a file are below the tests that find them, and these below what the file is about', () => {
    const texts = filesIn(join(root, 'test/soak/mutants')).filter((file) => file.endsWith('.txt'))
    const written = texts.flatMap((file) => readFileSync(file, 'utf8').match(/^# .*$/gm) ?? [])
    expect(MUTANTS.map(({ name }) => `# ${name}`)).to.have.members(written)
    const names = MUTANTS.filter(({ why }) => why.includes('found by'))
    expect(names, 'a group begins with its tests').to.deep.equal([])
  })

  it('are at least twenty, each in code that occurs exactly once, and each with tests to find it', () => {
    expect(MUTANTS.length).to.be.at.least(20)
    for (const { name, why, edits, tests } of MUTANTS) {
      expect([why.length, edits.length, tests.length], name).not.to.include(0)
      for (const { file, find } of edits) {
        const places = readFileSync(join(root, file), 'utf8').split(find).length - 1
        expect(places, `${name}: ${file} has changed; plant the bug anew`).to.equal(1)
      }
      for (const test of tests) expect(existsSync(join(root, test)), `${name}: ${test}`).to.equal(true)
    }
  })
})
