import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesIn, root } from '../../scripts/folders.ts'
import { english } from '../../src/console/language/english.ts'

/** `const words = t.frame`, `const { page, search: words } = t.frame`: a table, or some of it, by another name. */
const NAMED = /(?:const|,)\s+(\{[^{}]*\}|\w+)(?:: [^=\n]+)? = ([\w.]+)(?![\w.[(])/g

/** The names of all texts in a table. */
const textsOf = (table: object, path = ''): string[] =>
  Object.entries(table).flatMap(([name, text]) =>
    typeof text === 'object' && !Array.isArray(text) ? textsOf(text as object, `${path}${name}.`) : [`${path}${name}`],
  )

/** What a source reads of the tables: names of texts, and of groups that it reads by a computed name. */
function readIn(source: string): string[] {
  const tables = new Map<string, Set<string>>([['t', new Set([''])]])
  const resolved = (chain: string): string[] => {
    const [first, ...rest] = chain.replaceAll(/[\s?]/g, '').split('.')
    return [...(tables.get(first!) ?? [])].map((table) => [table, ...rest].filter(Boolean).join('.'))
  }
  for (const [, names, chain] of source.matchAll(NAMED)) {
    for (const table of resolved(chain!)) {
      for (const one of names!
        .replaceAll(/[{}\s]/g, '')
        .split(',')
        .filter(Boolean)) {
        const [field, name = field!] = one.split(':')
        const path = names!.startsWith('{') ? `${table}.${field}`.replace(/^\./, '') : table
        tables.set(name, (tables.get(name) ?? new Set()).add(path))
      }
    }
  }
  const rest = source.replaceAll(NAMED, (all, _names, chain) => (resolved(chain as string).length > 0 ? '' : all))
  return [...rest.matchAll(/\b\w+(?:\s*\??\.\s*\w+)*/g)].flatMap(([chain]) => resolved(chain))
}

describe('the words of the console', () => {
  it('are all used', () => {
    const sources = filesIn(join(root, 'src/console')).filter(
      (path) => /\.tsx?$/.test(path) && !path.includes('/language/'),
    )
    const read = new Set(sources.flatMap((path) => readIn(readFileSync(path, 'utf8'))))
    const isUsed = (text: string): boolean => {
      const parts = text.split('.')
      const groups = parts.slice(2).map((_, at) => parts.slice(0, at + 2).join('.'))
      return [text, ...groups].some((path) => read.has(path))
    }
    expect(textsOf(english).filter((text) => !isUsed(text))).to.deep.equal([])
    expect(isUsed('frame.nothing')).to.equal(false)
  })
})
