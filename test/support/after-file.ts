/** Ends each file of tests (.mocharc.json), also where one process runs several of them. */
import type { Context } from 'mocha'
import { endFile } from '../../scripts/harness/after-file.ts'

/** Has something done after the last suite of each file: for a `beforeAll` of all tests. */
export function afterEachFile({ test }: Context, work: (file: string) => void | Promise<void>): void {
  const { suites } = test!.parent!
  suites.forEach((suite, at) => {
    if (suites[at + 1]?.file !== suite.file) suite.afterAll(() => work(suite.file!))
  })
}

export const mochaHooks = {
  beforeAll(this: Context): void {
    afterEachFile(this, endFile)
  },
  // Of a file whose last suite was not run.
  afterAll: endFile,
}
