import { SHARES } from './killing-tests.ts'
import type { Mutant } from './mutant.ts'

/** Bugs in how places are shared out among accounts. */
export const OF_SHARING: readonly Mutant[] = [
  {
    name: 'an account over its share',
    why: 'One account never holds more than its share of the places, also where nobody else wants one now.',
    edits: [
      {
        file: 'src/workers/fair-places.ts',
        find: 'this.taken < total && this.heldBy(account) < shareOf(total, this.share)',
        replace: 'this.taken < total',
      },
    ],
    tests: [SHARES],
  },
]
