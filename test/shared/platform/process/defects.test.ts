import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../../../../scripts/folders.ts'

/** What a program prints that survives its defects, and how it ends. */
async function played(code: string): Promise<{ code: number | null; lines: Record<string, unknown>[] }> {
  const at = (file: string): string => JSON.stringify(join(root, 'src/shared/platform/process', file))
  const program = `
    import { reportDefect, showDefects, surviveDefects } from ${at('defects.ts')}
    import { createLog } from ${at('log.ts')}
    import { Registry } from 'prom-client'
    surviveDefects(createLog('info', 'worker'))
    ${code}
    await new Promise((resolve) => setTimeout(resolve, 50))
    const registry = new Registry()
    showDefects(registry)
    console.log(JSON.stringify({ metrics: await registry.metrics() }))`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  const [ended] = (await once(child, 'close')) as [number | null]
  const lines = text.trim().split('\n')
  return { code: ended, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

describe('a defect that nobody met', () => {
  it('is a line of the log without secrets and a number of the metrics, and the process lives', async () => {
    const { code, lines } = await played(`
      Promise.reject(new Error('of sk-abcdefghijkl'))
      setTimeout(() => { throw new Error('of a timer') }, 1)
      Promise.reject(Object.create(null))
      Promise.resolve().then(() => { throw new Error('reported') }).catch(reportDefect)`)
    expect(code).to.equal(0)
    const logged = lines.filter((line) => 'defect' in line)
    const messages = logged.map(({ defect, err }) => [defect, (err as { message: string }).message])
    expect(messages).to.deep.include.members([
      ['rejection', 'of [secret]'],
      ['exception', 'of a timer'],
      ['rejection', 'reported'],
      ['rejection', 'thrown was something that has no text'],
    ])
    for (const { level, err } of logged) {
      expect(level).to.equal('error')
      expect((err as { stack: string }).stack).to.match(/^Error: .*\n\s+at /)
    }
    const { metrics } = lines.find((line) => 'metrics' in line) as { metrics: string }
    expect(metrics).to.include('tollgate_defects_total{kind="rejection"} 3')
    expect(metrics).to.include('tollgate_defects_total{kind="exception"} 1')
  })
})
