import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { findProgram } from '../../scripts/services/processes.ts'
import { useGateway } from '../support/gateway.ts'

const run = promisify(execFile)
const pageOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The lines of shells and configurations of agents are run where their programs are: test/agents, test/clients. */
describe('the samples of README.md and docs/agents.md', () => {
  const gateway = useGateway()
  const page = pageOf('README.md')
  const here = (code: string): string => code.replaceAll('http://localhost:3000', gateway.url)

  it('make the first call as written, which costs what is shown', async function () {
    if (!findProgram('curl') || !findProgram('bash')) this.skip()
    const section = page.slice(page.indexOf('## A first call'), page.indexOf('## How it works'))
    const commands = Array.from(section.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => block).join('\n')
    const { key } = await gateway.account(10_000)
    const shell = ['-euc', here(commands.replaceAll('curl ', 'curl -fsS '))]
    const { stdout } = await run('bash', shell, { env: { ...process.env, KEY: key } })
    expect(stdout).to.contain('"object":"chat.completion"')
    expect(stdout).to.match(/"usage":\{"credits":40,"balance":9959,/)
    expect(section).to.contain('"usage": {"credits": 40, "balance": 9959,')
  })

  it('are programs, each of which runs as it is and prints the answer', async () => {
    const samples = Array.from(pageOf('docs/agents.md').matchAll(/^```js\n(.*?)^```$/gms), ([, code]) => code!)
    expect(samples).to.have.length(2)
    const { key } = await gateway.account(100_000)
    const { PATH } = process.env
    const printed = samples.map(async (code) => {
      expect(code).to.include('http://localhost:3000')
      const args = ['--input-type=module', '-e', here(code)]
      return (await run(process.execPath, args, { cwd: root, env: { PATH, KEY: key } })).stdout
    })
    expect(await Promise.all(printed)).to.deep.equal(['Good morning\n', 'Good morning\n'])
  })

  it('name npm scripts that exist', () => {
    const { scripts } = JSON.parse(pageOf('package.json')) as { scripts: Record<string, string> }
    const named = Array.from(page.matchAll(/^npm (?:run )?([\w:-]+)/gm), ([, name]) => name!)
    expect(Object.keys(scripts)).to.include.members(named.filter((name) => name !== 'ci'))
  })
})
