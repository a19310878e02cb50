import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { useGateway } from '../support/gateway.ts'

/** The lines of shells and configurations are run where their programs are: test/agents, test/clients. */
describe('docs/agents.md', () => {
  const page = readFileSync(join(root, 'docs/agents.md'), 'utf8')
  const samples = Array.from(page.matchAll(/^```js\n(.*?)^```$/gms), ([, code]) => code!)

  const gateway = useGateway()

  it('has samples of programs, each of which runs as it is and prints the answer', async () => {
    expect(samples).to.have.length(2)
    const { key } = await anAccount(gateway.db, 100_000)
    const printed = samples.map(async (code) => {
      expect(code).to.include('http://localhost:3000')
      const args = ['--input-type=module', '-e', code.replaceAll('http://localhost:3000', gateway.url)]
      const { PATH } = process.env
      return (await promisify(execFile)(process.execPath, args, { cwd: root, env: { PATH, KEY: key } })).stdout
    })
    expect(await Promise.all(printed)).to.deep.equal(['Good morning\n', 'Good morning\n'])
  })
})
