import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from '../../../scripts/folders.ts'

const require = createRequire(import.meta.url)
const yaml = createRequire(require.resolve('mocha/package.json'))('js-yaml') as { load: (text: string) => unknown }
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** The part of Prometheus' schema of rule files that we use; it refuses fields that it does not know. */
const rules = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string().min(1),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^[A-Z][A-Za-z]+$/),
          expr: z.string().min(1),
          for: z.string().regex(/^\d+[smhd]$/),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.strictObject({ summary: z.string().min(1) }),
        }),
      ),
    }),
  ),
})

/** What Grafana needs to load a dashboard. */
const dashboard = z.object({
  title: z.string(),
  uid: z.string().max(40),
  schemaVersion: z.int().min(36),
  templating: z.object({ list: z.array(z.object({ name: z.literal('datasource'), type: z.literal('datasource') })) }),
  panels: z
    .array(
      z.object({
        id: z.int(),
        type: z.enum(['timeseries']),
        title: z.string(),
        datasource: z.object({ type: z.literal('prometheus'), uid: z.literal('${datasource}') }),
        gridPos: z.object({ h: z.int(), w: z.int(), x: z.int().max(23), y: z.int() }),
        targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })).min(1),
      }),
    )
    .min(1),
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

  it('has panels of their own ids', () => {
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length)
  })
})
