import { expect } from 'chai'
import { TaskTooLarge, ThreadPool, scriptNextTo } from '../../../../src/shared/platform/process/thread-pool.ts'

describe('a pool of threads', () => {
  const pool = new ThreadPool<string, string>(scriptNextTo(import.meta.url, 'busy-thread'), {
    heapMb: 64,
    cpuMs: 1000,
  })
  after(() => pool.stop())

  const failureOf = (task: string): Promise<unknown> => pool.run(task).catch((error: unknown) => error)

  it('ends a task that takes too much CPU time, and goes on with the next', async () => {
    expect(await failureOf('loop')).to.be.instanceOf(TaskTooLarge)
    expect(await pool.run('well')).to.equal('did well')
  })

  it('ends a task that takes too much memory, and neither the process nor a task next to it', async () => {
    const [filled, well] = await Promise.all([failureOf('fill'), pool.run('well')])
    expect(filled).to.be.instanceOf(TaskTooLarge)
    expect(well).to.equal('did well')
    expect(await pool.run('again')).to.equal('did again')
  })

  it('passes on what a task throws, and goes on with the next', async () => {
    expect(await failureOf('throw'))
      .to.be.instanceOf(Error)
      .and.have.property('message', 'thrown')
    expect(await pool.run('well')).to.equal('did well')
  })
})
