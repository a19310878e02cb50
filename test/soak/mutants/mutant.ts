import type { Edit } from '../../support/tree-copy.ts'

/** A bug that is planted into a copy of the tree, and the quick tests that must notice it. */
export type Mutant = { name: string; why: string; edits: Edit[]; tests: string[] }
