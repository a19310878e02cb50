import type { Mutant } from './mutant.ts'
import type { TestAddresses } from '../../../scripts/services/test-services.ts'
import { copyTree, editTree } from '../../support/tree-copy.ts'
import type { TreeCopy } from '../../support/tree-copy.ts'
import { runMocha } from '../mocha.ts'

/** What is copied of the tree. */
const PARTS = [
  'src',
  'sandbox',
  'migrations',
  'sql',
  'test',
  'scripts',
  'assets',
  'docs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.mocharc.json',
  'knexfile.ts',
  'models.json',
]

/** How many schedules of each kind a planted bug can survive, and how many the copy without one must pass. */
const SCHEDULES = {
  mutant: { TOLLGATE_SCHEDULES: '800', TOLLGATE_PAYMENT_SCHEDULES: '400' },
  healthy: { TOLLGATE_SCHEDULES: '50', TOLLGATE_PAYMENT_SCHEDULES: '25' },
}

/** Whether a test failed because of a planted bug, and which; or why the copy did not run. */
export type Verdict = { found: boolean; note: string }

/**
 * A copy of the tree in which bugs are planted, one at a time. All share one copy, because compiled files are cached by
 * their path.
 */
export class MutantRunner {
  private copy: TreeCopy | undefined

  /** Plants a bug and runs the tests that must find it. */
  async judge({ name, edits, tests }: Mutant, addresses: TestAddresses): Promise<Verdict> {
    this.copy ??= copyTree(PARTS)
    const heal = editTree(this.copy, name, edits)
    try {
      return await verdictOf(this.copy, tests, addresses, SCHEDULES.mutant)
    } finally {
      heal()
    }
  }

  /** Runs tests without a planted bug. They must pass, so that only a planted bug makes them fail. */
  async judgeHealthy(tests: string[], addresses: TestAddresses): Promise<Verdict> {
    this.copy ??= copyTree(PARTS)
    return await verdictOf(this.copy, tests, addresses, SCHEDULES.healthy)
  }

  /** Deletes the copy. */
  end(): void {
    this.copy?.remove()
  }
}

async function verdictOf(
  copy: TreeCopy,
  tests: string[],
  addresses: TestAddresses,
  env: Record<string, string>,
): Promise<Verdict> {
  const { counts, output } = await runMocha(tests, {
    ...addresses,
    folder: copy.folder,
    bail: true,
    env,
  })
  if (!counts) return { found: false, note: `the copy does not run: ${output.slice(-1000)}` }
  return {
    found: counts.failed > 0,
    note:
      output
        .split('\n')
        .find((line) => /^\s+1\) /.test(line))
        ?.trim() ?? '',
  }
}
