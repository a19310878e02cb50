import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { readConfig } from '../../src/shared/platform/config/config.ts'
import { MODALITIES, QUEUES, QUEUE_NAMES } from '../../src/shared/terms/kinds.ts'

const REQUIRED = { DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost', APP_SECRET: 'x'.repeat(32) }

/** The page's tables: a variable, and its default where it has one. */
function documented(): Map<string, string | null> {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8')
  return new Map(
    Array.from(page.matchAll(/^\| `([A-Z][A-Z0-9_]+)` \|([^|\n]*)\|([^|\n]*)(\|)?/gm), ([, name, first, , isWide]) => [
      name!,
      isWide ? first!.trim() : null,
    ]),
  )
}

describe('docs/configuration.md', () => {
  it('has every variable that a process reads, and no other', () => {
    const source = readFileSync(join(root, 'src/shared/platform/config/config.ts'), 'utf8')
    const written = Array.from(source.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm), ([, name]) => name!)
    const read = [...written, ...MODALITIES.map((kind) => `${kind.toUpperCase()}_CONCURRENCY`)]
    expect([...documented().keys()].toSorted()).to.deep.equal([...new Set(read)].toSorted())
  })

  it('states the default of each', () => {
    const config = readConfig(QUEUES, REQUIRED) as unknown as Record<string, unknown>
    for (const [name, said] of documented()) {
      if (said === null) expect(REQUIRED, name).to.have.property(name)
      else if (/^(none|all interfaces)\b/.test(said)) expect(config[name], name).to.equal(undefined)
      else if (said === 'all') expect(config[name], name).to.deep.equal([...QUEUE_NAMES])
      else expect(said.replaceAll('`', '').replace('$PORT', '3000'), name).to.equal(String(config[name]))
    }
  })
})
