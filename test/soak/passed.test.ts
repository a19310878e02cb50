import { expect } from 'chai'
import { join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { privateFolder } from '../../scripts/harness/services.ts'
import type { Job, Result } from './jobs.ts'
import { PassedJobs, jobsBefore } from './passed.ts'

const job = (name: string): Job => ({ name, run: async () => PASSED })
const PASSED: Result = { ok: true, figures: [], details: '', schedules: 5, mutant: false }
const SOAK = { seed: 1, tree: 'a', part: 1, every: 3 }

describe('a soak that is continued', () => {
  const jobs = ['load', 'kills', 'planted bug: one'].map(job)

  it('begins at a job, by its number or words of its name', () => {
    const names = (from: string): string[] => jobsBefore(jobs, from).map(({ name }) => name)
    expect([names('1'), names('3'), names('bug: one')]).to.deep.equal([[], ['load', 'kills'], ['load', 'kills']])
    for (const from of ['0', '4', 'none']) expect(() => names(from), from).to.throw('no job')
  })

  it('uses what has passed since, with the same seed, tree and options only', () => {
    const folder = privateFolder()
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'soak.json')
    const [load, kills] = jobs as [Job, Job]
    const first = new PassedJobs(file, SOAK)
    first.record(load, PASSED)
    first.record(kills, PASSED)
    first.record(kills, { ...PASSED, ok: false })
    expect(PassedJobs.lastSeed(file)).to.equal(1)
    const known = (soak: typeof SOAK) => jobs.map((one) => new PassedJobs(file, soak).of(one))
    expect(known(SOAK)).to.deep.equal([PASSED, undefined, undefined])
    for (const other of [{ seed: 2 }, { tree: 'b' }, { part: 0.5 }, { every: 1 }])
      expect(known({ ...SOAK, ...other })).to.deep.equal([undefined, undefined, undefined])
  })
})
