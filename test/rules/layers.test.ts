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
  it('refuses an import of a higher layer and a module in no layer, and nothing else', () => {
    const refused = [
      ['terms', 'metrics'],
      ['calls', 'webhooks'],
      ['platform', 'terms'],
    ]
    const tree = Object.fromEntries(
      refused.flatMap(([from, to]) => [
        [`src/shared/${from}/a.ts`, importing(`../${to}/b.ts`)],
        [`src/shared/${to}/b.ts`, VALUE],
      ]),
    )
    const report = reportOf({
      ...tree,
      'src/shared/metrics/a.ts': importing('../terms/b.ts'),
      'src/shared/nowhere/a.ts': importing('../terms/b.ts'),
    })
    const faults = Array.from(report.matchAll(/error ([\w-]+): (\S+)/g), ([, rule, file]) => `${rule} ${file}`)
    expect(faults).to.have.members([
      ...refused.map(([from]) => `${from}-imports-lower-layers src/shared/${from}/a.ts`),
      'every-module-has-a-layer src/shared/nowhere/a.ts',
    ])
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
