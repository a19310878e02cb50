import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { findProgram } from '../../scripts/services/processes.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'

describe('README.md', () => {
  const page = readFileSync(join(root, 'README.md'), 'utf8')

  describe('the first call', () => {
    let gateway: Gateway
    before(async function () {
      if (!findProgram('curl') || !findProgram('bash')) this.skip()
      gateway = await startGateway()
    })
    after(async () => {
      await gateway?.stop()
    })

    it('works as written, and costs what is shown', async () => {
      const section = page.slice(page.indexOf('## A first call'), page.indexOf('## How it works'))
      const commands = Array.from(section.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => block).join('\n')
      const { key } = await anAccount(gateway.db, 10_000)
      const shell = [
        '-euc',
        commands.replaceAll('curl ', 'curl -fsS ').replaceAll('http://localhost:3000', gateway.url),
      ]
      const { stdout } = await promisify(execFile)('bash', shell, { env: { ...process.env, KEY: key } })
      expect(stdout).to.contain('"object":"chat.completion"')
      expect(stdout).to.match(/"usage":\{"credits":40,"balance":9959,/)
      expect(section).to.contain('"usage": {"credits": 40, "balance": 9959,')
    })
  })

  it('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = Array.from(page.matchAll(/^npm (?:run )?([\w:-]+)/gm), ([, name]) => name!).filter(
      (name) => name !== 'ci',
    )
    expect(Object.keys(scripts)).to.include.members(named)
  })
})
