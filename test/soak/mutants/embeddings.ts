import type { Mutant } from './mutant.ts'
import { ADAPTER_OF_EMBEDDINGS, EMBEDDINGS, INPUT_OF_EMBEDDINGS } from './killing-tests.ts'

/** Bugs in calls for embeddings. */
export const OF_EMBEDDINGS: readonly Mutant[] = [
  {
    name: 'an answer that passes is given to whoever comes back',
    why: 'Answers of embeddings go to those who waited before the end, and are not stored.',
    edits: [
      {
        file: 'src/shared/reports/call-records.ts',
        find: "return { state: 'passing', ...ended,",
        replace: "return { state: 'ended', ...ended,",
      },
    ],
    tests: [EMBEDDINGS],
  },
  {
    name: 'vectors are in the order of the answer',
    why: 'The index of a vector says whose it is, whatever the order in which an upstream answers.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/embeddings.ts',
        find: 'index ?? place',
        replace: 'index === undefined ? place : place',
      },
    ],
    tests: [ADAPTER_OF_EMBEDDINGS],
  },
  {
    name: 'a short text is charged as nothing',
    why: 'Each text counts as one token at least.',
    edits: [
      {
        file: 'src/shared/requests/embeddings.ts',
        find: 'Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)',
        replace: 'Math.floor(Buffer.byteLength(text) / BYTES_PER_TOKEN)',
      },
    ],
    tests: [INPUT_OF_EMBEDDINGS],
  },
]
