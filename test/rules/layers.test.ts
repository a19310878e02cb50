import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../../scripts/folders.ts'

const config = join(root, '.dependency-cruiser.cjs')
const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')

/** What the import check reports of a tree of files, by their paths and contents. */
function reportOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-layers-'))
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    return spawnSync(process.execPath, [program, '--config', config, 'src'], { cwd: folder, encoding: 'utf8' }).stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const importing = (path: string): string => `import { value } from '${path}'\nexport const taken = value\n`
const VALUE = 'export const value = 1\n'

describe('the import check of layers', () => {
  it('accepts an import of a lower layer', () => {
    expect(
      reportOf({ 'src/shared/metrics/a.ts': importing('../terms/b.ts'), 'src/shared/terms/b.ts': VALUE }),
    ).to.match(/no dependency violations/)
  })

  for (const [from, to] of [
    ['terms', 'metrics'],
    ['calls', 'webhooks'],
    ['platform', 'terms'],
  ]) {
    it(`refuses an import of ${to} by ${from}`, () => {
      const report = reportOf({
        [`src/shared/${from}/a.ts`]: importing(`../${to}/b.ts`),
        [`src/shared/${to}/b.ts`]: VALUE,
      })
      expect(report).to.include(`error ${from}-imports-lower-layers`)
    })
  }

  it('refuses a module that is in no layer', () => {
    expect(
      reportOf({ 'src/shared/nowhere/a.ts': importing('../terms/b.ts'), 'src/shared/terms/b.ts': VALUE }),
    ).to.include('error every-module-has-a-layer')
  })

  it('has the layers that CONTRIBUTING.md lists', () => {
    const listed = Array.from(
      readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').matchAll(/^ {2}\d\. (.*)$/gm),
      ([, line]) => Array.from(line!.matchAll(/`([a-z-]+)`/g), ([, name]) => name),
    )
    const checked = Array.from(readFileSync(config, 'utf8').matchAll(/^ {2}\[('.*')\],$/gm), ([, line]) =>
      line!.replaceAll("'", '').split(', '),
    )
    expect(listed).to.deep.equal(checked)
  })
})
