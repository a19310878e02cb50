import type { Mutant } from './mutant.ts'

const READING = 'src/workers/upstreams/usage.ts'
const BELIEF = 'src/workers/upstreams/trusted-usage.ts'
const READ = 'test/workers/upstreams/usage.test.ts'
const BELIEVED = 'test/workers/upstreams/trusted-usage.test.ts'
const SETTLE = 'test/shared/calls/settle.test.ts'

/** Bugs in what is believed of a reported usage, and in the bound of a settlement. */
export const OF_USAGE: readonly Mutant[] = [
  {
    name: 'an input of zero is believed',
    why: 'No request has an empty prompt.',
    edits: [{ file: BELIEF, find: 'const isInput = all > 0 && ', replace: 'const isInput = ' }],
    tests: [BELIEVED],
  },
  {
    name: 'an output of zero is believed beside words',
    why: 'What was said was made of tokens.',
    edits: [{ file: BELIEF, find: 'const isOutput = output > 0 && ', replace: 'const isOutput = ' }],
    tests: [BELIEVED],
  },
  {
    name: 'input beyond a token a byte is believed',
    why: 'No tokenizer makes more of a text than its bytes.',
    edits: [{ file: BELIEF, find: "if (all > bounds.mostInput) refused.push('input')", replace: '' }],
    tests: [BELIEVED],
  },
  {
    name: 'any output is believed',
    why: 'The upstream was told its limit.',
    edits: [{ file: BELIEF, find: "if (output > 2 * estimate.output) refused.push('output')", replace: '' }],
    tests: [BELIEVED],
  },
  {
    name: 'a total is billed as output',
    why: 'What a total has beyond both sides is first what a cache had a part in.',
    edits: [{ file: BELIEF, find: 'Math.max(0, beyond - cached - written)', replace: 'Math.max(0, beyond)' }],
    tests: [BELIEVED],
  },
  {
    name: 'words after a report are free',
    why: 'An early report counts what had come by then.',
    edits: [{ file: BELIEF, find: 'isStale ? own.output : 0', replace: '0' }],
    tests: [BELIEVED],
  },
  {
    name: 'the last report erases the first',
    why: 'Reports are cumulative; what the last leaves at zero was reported before.',
    edits: [{ file: READING, find: 'Math.max(one[count] ?? 0, other[count] ?? 0)', replace: 'other[count] ?? 0' }],
    tests: [READ],
  },
  {
    name: 'a cache has one name',
    why: 'Providers spell what was read from a cache in many ways.',
    edits: [{ file: READING, find: "    'cache_read_input_tokens',\n", replace: '' }],
    tests: [READ],
  },
  {
    name: 'a settlement above twice its pre-charge',
    why: 'No report empties an account.',
    edits: [
      { file: 'sql/end_calls.sql', find: 'least(o.cost, 2 * c.credits_precharged)', replace: 'o.cost' },
      { file: 'migrations/007_calls.ts', find: '<= 2 * credits_precharged', replace: '>= 0' },
    ],
    tests: [SETTLE],
  },
]
