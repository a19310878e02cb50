import type { Edit } from '../scripts/tree-copy.ts'

/** Something that makes calls cheaper, and the edits that take it out of a copy of the sources. */
export type Means = { name: string; edits: Edit[]; env?: Record<string, string> }

/** What the table in docs/performance.md is made of. */
export const MEANS: readonly Means[] = [
  {
    name: 'several takers of chat jobs a worker',
    edits: [{ file: 'src/workers/worker.ts', find: '{ chat: 8,', replace: '{ chat: 1,' }],
  },
  {
    name: 'one kept plan for the statements of the money',
    edits: [{ file: 'migrations/008_kept_plans.ts', find: 'SET plan_cache_mode = force_generic_plan', replace: 'SET plan_cache_mode = auto' }],
  },
]
