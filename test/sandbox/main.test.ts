import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { get } from '../../scripts/harness/http.ts'

const MAIN = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url))

describe('the sandbox as a program', () => {
  const children: ChildProcess[] = []
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')))

  function run(...args: string[]): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
    const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    return child
  }

  it('prints where it listens, serves, and ends on SIGTERM', async () => {
    const child = run('--port', '0')
    const [line] = await once(child.stdout, 'data')
    const [, url] = /^sandbox upstream listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(String(line)) ?? []
    expect((await get(`${url}/sandbox/open`)).json).to.include({ open: 0 })
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).to.deep.equal([0, null])
  })

  it('prints its help, and refuses unknown options', async () => {
    const help = run('--help')
    expect(await text(help.stdout)).to.match(/--port 4010[^]*\[fail-times N CODE\]/)
    const child = run('--port', 'many')
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(said).to.include('--port must be a number, not "many". Try --help.')
    expect(code).to.equal(2)
  })
})
