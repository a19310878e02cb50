import type { Mutant } from './mutant.ts'
import { TREE, treeOf } from '../../../scripts/testing/tree.ts'
import type { TestAddresses } from '../../../scripts/services/test-services.ts'
import { copyTree, editTree } from '../../support/tree-copy.ts'
import type { TreeCopy } from '../../support/tree-copy.ts'
import { runMocha } from '../mocha.ts'

const SURVIVED = {
  // How many schedules of each kind, and random chats, a planted bug can survive.
  TOLLGATE_SCHEDULES: '800',
  TOLLGATE_PAYMENT_SCHEDULES: '400',
  TOLLGATE_REQUESTS: '1000',
  // A bug that prevents what a test waits for is found by the end of the wait.
  TOLLGATE_TEST_PATIENCE_MS: '60000',
}

/** Whether a test failed because of a planted bug; and which, with its error's message, or why the copy did not run. */
export type Verdict = { found: boolean; note: string }

/**
 * Copies of the tree in which bugs are planted: one at a time in each, and no more copies than bugs at a time, because
 * compiled files are cached by their path.
 */
export class MutantRunner {
  private readonly copies: TreeCopy[] = []
  private readonly free: TreeCopy[] = []

  /** Plants a bug, runs the tests that must find it, and checks that the copy is the tree again without the bug. */
  async judge({ name, edits, tests }: Mutant, tree: string, addresses: TestAddresses): Promise<Verdict> {
    const copy = this.free.pop() ?? this.copyOfTree()
    const heal = editTree(copy, name, edits)
    const verdict = await verdictOf(copy, tests, addresses).finally(heal)
    this.free.push(copy)
    return treeOf(copy.folder) === tree
      ? verdict
      : { found: false, note: 'the copy is not the tree that the soak tests' }
  }

  /** Deletes the copies. */
  end(): void {
    for (const copy of this.copies) copy.remove()
  }

  private copyOfTree(): TreeCopy {
    const copy = copyTree(TREE)
    this.copies.push(copy)
    return copy
  }
}

async function verdictOf({ folder }: TreeCopy, tests: string[], addresses: TestAddresses): Promise<Verdict> {
  const { ended, output } = await runMocha(tests, { ...addresses, folder, bail: true, env: SURVIVED })
  if (!ended) return { found: false, note: `the copy does not run: ${output.slice(-1000)}` }
  const [failure] = ended.failures ?? []
  return { found: ended.failed > 0, note: failure ? `${failure.title}: ${failure.message}` : '' }
}
