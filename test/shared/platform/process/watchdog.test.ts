import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { root } from '../../../../scripts/folders.ts'

/** Runs a program that is killed after half a second of CPU time in one turn, and in any case after a while. */
function watched(program: string) {
  const script = `
    import { watchLoop } from './src/shared/platform/process/watchdog.ts'
    watchLoop('worker', { cpuMs: 500, everyMs: 50 })
    process.on('SIGTERM', () => process.exit(3))
    ${program}`
  return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGQUIT',
  })
}

describe('a process whose event loop stands still', () => {
  for (const [what, program] of [
    ['in a loop', 'setTimeout(() => { for (;;); }, 100)'],
    ['in promises alone', 'const again = () => Promise.resolve().then(again); setTimeout(again, 100)'],
  ] as const) {
    it(`is killed, ${what}, and says why in a line`, () => {
      const { signal, stdout } = watched(program)
      expect(signal).to.equal('SIGKILL')
      expect(JSON.parse(stdout)).to.include({ level: 'fatal', process: 'worker' }).and.have.property('msg')
    })
  }

  it('is another thing than one that is busy all the time, and then ends', () => {
    const busy = `
      const end = performance.now() + 1500
      const work = () => {
        const until = performance.now() + 100
        while (performance.now() < until);
        if (performance.now() < end) setImmediate(work)
      }
      work()`
    expect(watched(busy)).to.include({ signal: null, status: 0 })
  })

  it('is another thing than one that gets no processor', () => {
    const suspended = "setTimeout(() => require('node:child_process').execSync('sleep 1.5'), 100)"
    expect(
      watched(`import { createRequire } from 'node:module'; const require = createRequire('/'); ${suspended}`),
    ).to.include({ signal: null, status: 0 })
  })
})
