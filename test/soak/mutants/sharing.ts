import { PROMISES_OF_RESPONSES, SHARES } from './killing-tests.ts'
import type { Mutant } from './mutant.ts'

/** Bugs in what accounts share: places, and the secret of the gateway. */
export const OF_SHARING: readonly Mutant[] = [
  {
    name: 'an account over its share',
    why: 'One account never holds more than its share of the places, also where nobody else wants one now.',
    edits: [
      {
        file: 'src/shared/platform/places.ts',
        find: 'this.taken < total && this.heldBy(account) < shareOf(total, this.share)',
        replace: 'this.taken < total',
      },
    ],
    tests: [SHARES],
  },
  {
    name: 'sealed reasoning opens for every account',
    why: 'What one account received, another could send.',
    edits: [{ file: 'src/shared/chat/seal.ts', find: '`${accountId} ${route}`', replace: '`${accountId && route}`' }],
    tests: [PROMISES_OF_RESPONSES],
  },
]
