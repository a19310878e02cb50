import type { Mutant } from './mutant.ts'

const READ = 'test/workers/calls/recorded-answers.test.ts'
const JOINS = 'test/workers/upstreams/joins.test.ts'

/** Bugs in how answers of upstreams are read. */
export const OF_READING: readonly Mutant[] = [
  {
    name: 'settled before there is a result',
    why: 'An answer without choices is a failure, and failures are refunded.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/chunks.ts',
        find: "if (this.choices.size === 0) throw malformedAnswer('the answer has no choices')",
        replace: 'if (this.choices.size === 0) return []',
      },
    ],
    tests: ['test/workers/calls/wrong-json.test.ts'],
  },
  {
    name: 'an end is invented behind an event that cannot be read',
    why: 'What was lost there may have been an error.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/chunks.ts',
        find: 'if (!isDone || isBroken) throw',
        replace: 'if (!isDone) throw',
      },
    ],
    tests: [READ],
  },
  {
    name: 'a broken connection loses what had finished',
    why: 'Once every choice has its reason, the answer is whole and was billed.',
    edits: [
      {
        file: 'src/workers/upstreams/reader.ts',
        find: 'isOver() ? resolve(true) : reject(failure(error))',
        replace: 'reject(failure(error))',
      },
    ],
    tests: [READ],
  },
  {
    name: 'an error in a choice is sold as an answer',
    why: 'What the upstream failed to do is refunded.',
    edits: [
      {
        file: 'src/workers/upstreams/failures.ts',
        find: 'if (failed) return { error: failed.error }',
        replace: 'if (failed) return null',
      },
    ],
    tests: [READ],
  },
  {
    name: 'calls of tools are told apart by their numbers alone',
    why: 'Compatible servers number every call with zero: a new id begins a new call.',
    edits: [
      {
        file: 'src/workers/upstreams/tool-calls.ts',
        find: 'return id === call.id && (!isNumbered || call.number === number)',
        replace: 'return !isNumbered || call.number === number',
      },
    ],
    tests: [JOINS],
  },
]
