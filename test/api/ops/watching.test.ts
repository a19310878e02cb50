import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from '../../../scripts/folders.ts'

const require = createRequire(import.meta.url)
const yaml = createRequire(require.resolve('mocha/package.json'))('js-yaml') as { load: (text: string) => unknown }
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** What is read here of Prometheus' file of rules, and of Grafana's dashboard. */
const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string(), for: z.string() })) })),
})
const dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).min(1) })).min(1),
})

describe('what is watched', () => {
  const { groups } = rules.parse(yaml.load(read('deploy/prometheus-rules.yml')))
  const { panels } = dashboard.parse(JSON.parse(read('deploy/grafana-dashboard.json')))
  const expressions = [
    ...groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]

  it('is made of metrics that docs/operations.md has', () => {
    const page = read('docs/operations.md')
    for (const expression of expressions) {
      const names = expression.match(/\b(tollgate|nodejs)_\w+/g) ?? []
      expect(names, expression).not.to.deep.equal([])
      for (const name of names) expect(page, expression).to.include(name.replace(/_bucket$/, ''))
    }
  })

  it('is written in expressions whose brackets close', () => {
    for (const expression of expressions) {
      const open: string[] = []
      const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' }
      for (const character of expression.replace(/"[^"]*"/g, '')) {
        if ('([{'.includes(character)) open.push(character)
        else if (pairs[character]) expect(open.pop(), expression).to.equal(pairs[character])
      }
      expect(open, expression).to.deep.equal([])
    }
  })
})
