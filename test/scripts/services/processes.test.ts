import { expect } from 'chai'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import {
  dyingWithParent,
  end,
  findProgram,
  lives,
  markOf,
  signal,
  startOf,
} from '../../../scripts/services/processes.ts'
import { PATIENCE_MS, seenWithin } from '../../../scripts/harness/until.ts'

const idle = 'setInterval(() => {}, 1000); console.log("up")'

async function started(script: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

describe('process marks', () => {
  it('distinguish a process from a later one with the same pid', async () => {
    const child = await started(idle)
    const mark = markOf(child.pid!)
    const recycled = { pid: mark.pid, startedAt: 'at another time' }
    expect(lives(mark)).to.equal(true)
    expect(lives(recycled)).to.equal(false)
    signal(recycled, 'SIGKILL')
    await end(recycled, 'SIGKILL', 10)
    expect(lives(mark)).to.equal(true)
    await end(mark, 'SIGTERM', PATIENCE_MS)
    expect(lives(mark)).to.equal(false)
  })

  it('count a zombie as ended', async () => {
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `
      const { pid } = require('node:child_process').spawn('sleep', ['60'])
      require('node:fs').writeSync(1, pid + '\\n')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
    const unreaped = Number(line)
    process.kill(unreaped, 'SIGKILL')
    expect(await seenWithin(() => startOf(unreaped) === undefined, PATIENCE_MS)).to.equal(true)
    parent.kill('SIGKILL')
  })

  it('end with SIGKILL what ignores the first signal', async () => {
    const child = await started(`process.on('SIGTERM', () => {}); ${idle}`)
    await end(markOf(child.pid!), 'SIGTERM', 50)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(child.signalCode).to.equal('SIGKILL')
  })

  it('let a child die with a killed parent, where the system supports it', async function () {
    const command = dyingWithParent('SIGKILL', [process.execPath, '-e', idle])
    // Only Linux with util-linux supports it; elsewhere the next start cleans up.
    if (command.length === 3) return
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `
      const [program, ...args] = ${JSON.stringify(command)}
      const stdio = ['ignore', 'pipe', 'ignore']
      const child = require('node:child_process').spawn(program, args, { detached: true, stdio })
      child.stdout.once('data', () => console.log(child.pid))
      setInterval(() => {}, 1000)`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
    // The program has started: before, it would not get the signal of its parent's death.
    const child = markOf(Number(line))
    expect(lives(child)).to.equal(true)
    parent.kill('SIGKILL')
    expect(await seenWithin(() => !lives(child), PATIENCE_MS)).to.equal(true)
  })
})

describe('findProgram', () => {
  it('finds programs in the order of the PATH, and no folders', () => {
    expect(findProgram('sh', '/nowhere:/bin')).to.equal('/bin/sh')
    expect(findProgram('bin', '/usr')).to.equal(undefined)
    expect(findProgram('sh', '')).to.equal(undefined)
  })
})
