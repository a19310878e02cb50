import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock, unlock, withLock } from '../../../scripts/services/lock.ts'
import { privateFolder } from '../../../scripts/harness/services.ts'

describe('a lock file', () => {
  it('lets one process work at a time', async () => {
    const file = join(privateFolder(), 'lock')
    let inside = 0
    let most = 0
    await Promise.all(
      [1, 2, 3].map(() =>
        withLock(file, async () => {
          inside += 1
          most = Math.max(most, inside)
          await new Promise((resolve) => {
            setImmediate(resolve)
          })
          inside -= 1
        }),
      ),
    )
    expect(most).to.equal(1)
    expect(existsSync(file)).to.equal(false)
  })

  it('names its holder, and is free again after unlock', () => {
    const file = join(privateFolder(), 'lock')
    expect(tryLock(file)).to.equal(undefined)
    expect(tryLock(file)?.pid).to.equal(process.pid)
    unlock(file)
    expect(tryLock(file)).to.equal(undefined)
    unlock(file)
  })

  it('is taken over from a dead holder, from a reused pid, and when it is damaged', () => {
    const file = join(privateFolder(), 'lock')
    const { pid } = spawnSync('true')
    const dead = JSON.stringify({ pid, startedAt: 'then' })
    const recycled = JSON.stringify({ pid: process.pid, startedAt: 'then' })
    for (const text of [dead, recycled, '']) {
      expect(tryLock(file)).to.equal(undefined)
      writeFileSync(file, text)
      expect(tryLock(file)).to.equal(undefined)
      unlock(file)
    }
  })

  it('is released when the work fails', async () => {
    const file = join(privateFolder(), 'lock')
    const work = withLock(file, () => Promise.reject(new Error('the work failed')))
    expect(await work.catch((error: unknown) => error))
      .to.be.an('error')
      .with.property('message', 'the work failed')
    expect(existsSync(file)).to.equal(false)
  })
})
