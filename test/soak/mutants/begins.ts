import type { Mutant } from './mutant.ts'
import { BEGIN, BEGUN, ENQUEUED, HELD, KILLED, MOMENTS } from './killing-tests.ts'

const CALLS = 'src/shared/calls/calls.ts'
const LEASES = 'src/shared/calls/leases.ts'
const STATEMENTS = 'src/shared/calls/statements.ts'
const HELD_CALLS = 'src/workers/calls/held-calls.ts'

/** Bugs of the begin of a call, of its lease, and of those that wait for it. */
export const BEGINS: readonly Mutant[] = [
  {
    name: 'a second run begins a call whose worker is alive',
    why: 'Its upstream would be asked twice, or its stream ended.',
    edits: [
      {
        file: STATEMENTS,
        find: 'AND (started_by IS NULL OR started_by = ${RUN} OR lease_until < now())',
        replace: '',
      },
    ],
    tests: [MOMENTS, BEGIN, BEGUN],
  },
  {
    name: 'a run that repeats its begin is a second run',
    why: 'An acknowledgement may be lost on its way.',
    edits: [{ file: STATEMENTS, find: 'OR started_by = ${RUN} OR lease_until', replace: 'OR lease_until' }],
    tests: [BEGUN],
  },
  {
    name: 'a call that an earlier run may have sent begins as if it had not',
    why: 'A picture would be billed twice, and a stream would have two beginnings.',
    edits: [
      { file: STATEMENTS, find: 'attempts > 1 OR upstream_ref IS NOT NULL', replace: 'upstream_ref IS NOT NULL' },
    ],
    tests: [BEGUN],
  },
  {
    name: 'an attempt that was handed back unsent counts',
    why: 'The next run would refund what nobody has sent.',
    edits: [{ file: CALLS, find: 'attempts: attempt - 1,', replace: 'attempts: attempt,' }],
    tests: [BEGUN],
  },
  {
    name: 'a crash of Postgres loses the begin of a picture',
    why: 'What is never sent twice must be known to have begun.',
    edits: [
      {
        file: STATEMENTS,
        find: "CASE WHEN $4 THEN '' ELSE set_config('synchronous_commit', 'off', true) END",
        replace: "CASE WHEN $4 IS NOT NULL THEN set_config('synchronous_commit', 'off', true) END",
      },
    ],
    tests: [BEGUN],
  },
  {
    name: 'a begin that was acknowledged late is not repeated',
    why: 'Its lease may have passed, and another run may have taken the call over.',
    edits: [
      { file: CALLS, find: 'while (call && performance.now() - sentAt > RENEW_LEASES_MS)', replace: 'while (false)' },
    ],
    tests: [BEGUN],
  },
  {
    name: 'a call whose begin a crash of Postgres lost is taken for lost',
    why: 'Its worker lives, and would be stopped.',
    edits: [{ file: LEASES, find: 'c.attempts <= given.attempt', replace: 'c.attempts = given.attempt' }],
    tests: [HELD, BEGUN],
  },
  {
    name: 'a worker goes on with a call that another has taken over',
    why: 'Two would ask upstreams for it.',
    edits: [{ file: HELD_CALLS, find: 'if (!renewed.has(call.id) && ', replace: 'if (!renewed && ' }],
    tests: [HELD],
  },
  {
    name: 'a worker holds a call twice',
    why: 'Its two runs would renew one lease.',
    edits: [{ file: HELD_CALLS, find: 'if (held.has(id)) return null', replace: '' }],
    tests: [HELD],
  },
  {
    name: 'a client that leaves while its call begins is not noticed',
    why: 'The call would go on to its end, and be charged.',
    edits: [{ file: HELD_CALLS, find: 'if (call.hasDisconnected && !resumed) call.onDisconnect()', replace: '' }],
    tests: [HELD],
  },
  {
    name: 'a cancellation refunds a response that an upstream was sent',
    why: 'The upstream bills its input.',
    edits: [
      {
        file: 'src/api/v1/responses/stored.ts',
        find: 'calls.refund(id, CANCELLED_UNSENT, { attempt: 0 })',
        replace: 'calls.refund(id, CANCELLED_UNSENT)',
      },
    ],
    tests: ['test/api/v1/stored-responses.test.ts'],
  },
  {
    name: 'speech of a lost worker is refunded after it was heard',
    why: 'What was heard is paid, however many workers a customer can end.',
    edits: [{ file: 'src/workers/calls/begin.ts', find: 'KINDS[name as Modality].isRelayed', replace: 'false' }],
    tests: [KILLED],
  },
  {
    name: 'a call that is enqueued a second time is not waited for',
    why: 'The connection may be lost before its job was taken.',
    edits: [
      {
        file: 'src/shared/queues.ts',
        find: 'if (!(await comesBack(connection))) throw error',
        replace: 'if (connection) throw error',
      },
    ],
    tests: [ENQUEUED],
  },
]
