import type { Mutant } from './mutant.ts'
import { DELIVERIES, EVENTS, HEALTH, LANES, OPERATORS_EVENTS, SECRETS, TRIES } from './killing-tests.ts'

const OUTBOX = 'src/shared/webhooks/deliveries.ts'
const OWNERS = 'src/shared/webhooks/webhooks.ts'
const PROCESSOR = 'src/workers/webhooks/processor.ts'
const ROUNDS = 'src/workers/webhooks/round-places.ts'
const SCHEDULE = 'src/workers/webhooks/schedule.ts'
const POST = 'src/workers/fetching/fetcher.ts'

/** Bugs in events, from their causes to their receivers. */
export const OF_WEBHOOKS: readonly Mutant[] = [
  {
    name: 'the event of a call is written after its transaction',
    why: 'A process that dies in between has told nobody, and nobody will.',
    edits: [
      {
        file: 'sql/end_calls.sql',
        find: '  IF has_webhooks THEN PERFORM tell_of_calls(ended); END IF;\n',
        replace: '',
      },
      {
        file: 'src/shared/calls/calls.ts',
        find: "    if (!ended) return null\n    failpoint(row.status === 'succeeded' ? 'call.settled'",
        replace:
          "    if (!ended) return null\n    await this.db.raw('SELECT tell_of_calls(ARRAY[?::uuid])', [row.id])\n" +
          "    failpoint(row.status === 'succeeded' ? 'call.settled'",
      },
    ],
    tests: [EVENTS],
  },
  {
    name: 'an event that is sent again is another one',
    why: 'Receivers tell events apart by their ids.',
    edits: [
      {
        file: OUTBOX,
        find: 'tries: 0, next_try_at: db.fn.now(), finished_at: null',
        replace: "tries: 0, next_try_at: db.fn.now(), finished_at: null, event_id: newId('event')",
      },
    ],
    tests: [DELIVERIES],
  },
  {
    name: 'a try sends other bytes than the try before',
    why: 'All tries have the same bytes.',
    edits: [
      {
        file: OUTBOX,
        find: ' AS "isCallback", d.body,',
        replace: ` AS "isCallback", d.body || repeat(' ', d.tries) AS body,`,
      },
    ],
    tests: [DELIVERIES],
  },
  {
    name: 'what failed together is tried again together',
    why: 'A receiver that is back would get everything in the same second.',
    edits: [{ file: SCHEDULE, find: 'const JITTER = 0.2', replace: 'const JITTER = 0' }],
    tests: [TRIES],
  },
  {
    name: 'a later try comes sooner than the one before',
    why: 'The pauses grow.',
    edits: [{ file: SCHEDULE, find: '  5 * MINUTE,\n  30 * MINUTE,', replace: '  30 * MINUTE,\n  5 * MINUTE,' }],
    tests: [TRIES],
  },
  {
    name: 'a redirect is followed',
    why: 'It leads where nobody has checked, with the signature of the account.',
    edits: [
      {
        file: POST,
        find: "import { request } from 'undici'",
        replace: "import { interceptors, request } from 'undici'",
      },
      {
        file: POST,
        find: 'dispatcher: agent,',
        replace: 'dispatcher: agent.compose(interceptors.redirect({ maxRedirections: 3 })),',
      },
    ],
    tests: [DELIVERIES],
  },
  {
    name: 'what a name resolves to is not checked at each try',
    why: 'A name may lead elsewhere than when its webhook was made.',
    edits: [
      {
        file: 'src/workers/fetching/fetcher.ts',
        find: ': publicConnections(receivers, limits.connect, { signal, dial })',
        replace: ': (void [signal, dial], trustedConnections(receivers, limits.connect))',
      },
    ],
    tests: [DELIVERIES],
  },
  {
    name: 'a receiver that answers 410 is asked again and again',
    why: '410 disables a webhook.',
    edits: [{ file: OUTBOX, find: "isGone ? 'gone' : webhook.isFailing", replace: 'webhook.isFailing' }],
    tests: [DELIVERIES],
  },
  {
    name: 'only the new secret signs after a rotation',
    why: 'A receiver has a day to change it.',
    edits: [
      {
        file: PROCESSOR,
        find: 'previous ? [current, previous] : [current]',
        replace: '[previous ?? current].slice(-1)',
      },
    ],
    tests: [DELIVERIES],
  },
  {
    name: 'what waits for a webhook that is disabled is sent all the same',
    why: 'It is held until its owner enables it.',
    edits: [{ file: OUTBOX, find: "    .update({ status: 'held' })", replace: "    .update({ status: 'queued' })" }],
    tests: [DELIVERIES],
  },
  {
    name: 'webhooks that list chat are told of every call that somebody waits for',
    why: 'It asks for chats.',
    edits: [
      {
        file: 'sql/tell_of_calls.sql',
        find: "OR e.modality = 'chat'",
        replace: 'OR true',
      },
    ],
    tests: [EVENTS],
  },
  {
    name: 'every webhook is sent the events of free calls',
    why: 'They cost nothing and are stored for 30 days.',
    edits: [
      {
        file: 'sql/tell_of_calls.sql',
        find: 'e.is_awaited_elsewhere AND NOT e.is_free',
        replace: 'e.is_awaited_elsewhere',
      },
    ],
    tests: [EVENTS],
  },
  {
    name: 'any success leads out of the slow lane',
    why: 'A receiver that answers once, or answers test events alone, would hold the places of others.',
    edits: [
      { file: OUTBOX, find: '...(isSlow && type !== TEST_TYPE && { is_slow: false })', replace: 'is_slow: false' },
    ],
    tests: [LANES],
  },
  {
    name: 'enabling a webhook leads out of the slow lane',
    why: 'Only an event that was delivered does.',
    edits: [
      {
        file: OUTBOX,
        find: 'disabled_reason: null, failing_since: null }',
        replace: 'disabled_reason: null, failing_since: null, is_slow: false }',
      },
    ],
    tests: [LANES],
  },
  {
    name: 'a failure is not noted where its event was sent again meanwhile',
    why: 'A customer would keep a receiver that hangs out of the slow lane.',
    edits: [
      {
        file: OUTBOX,
        find: "    await trx('webhooks').where({ id: webhookId, is_slow: false }).update({ is_slow: true })\n",
        replace: '',
      },
      {
        file: OUTBOX,
        find: '    if (changed === 0 || isCallback',
        replace:
          "    if (changed > 0) await trx('webhooks').where({ id: webhookId }).update({ is_slow: true })\n" +
          '    if (changed === 0 || isCallback',
      },
    ],
    tests: [LANES],
  },
  {
    name: 'callbacks that fail do not count',
    why: 'They hang as well as webhooks do.',
    edits: [
      {
        file: OUTBOX,
        find: 'where({ id: webhookId, is_slow: false })',
        replace: 'where({ id: webhookId, is_slow: isCallback })',
      },
    ],
    tests: [LANES],
  },
  {
    name: 'an account has no share of the places for rounds',
    why: 'Ten accounts with ten receivers that hang would take every place.',
    edits: [{ file: ROUNDS, find: 'const ROUNDS_PART = 1 / 6', replace: 'const ROUNDS_PART = 2' }],
    tests: [LANES],
  },
  {
    name: 'operators wait for places behind customers',
    why: 'Customers could keep the events of operators from them.',
    edits: [
      { file: ROUNDS, find: 'return accountId === null ? round() : ', replace: 'return ' },
      { file: ROUNDS, find: 'within(job, token, accountId, round)', replace: 'within(job, token, accountId!, round)' },
    ],
    tests: [LANES],
  },
  {
    name: 'a free place waits for the account that had it',
    why: 'It goes to the account that has the fewest places.',
    edits: [
      {
        file: 'src/workers/queue-places.ts',
        find: '      this.places.give(account)\n      this.callNext()',
        replace: '      this.places.give(account)',
      },
    ],
    tests: [LANES],
  },
  {
    name: 'a cause does not wait for the deletion of its webhook',
    why: 'It would fail on the foreign key.',
    edits: [{ file: 'sql/tell_webhooks.sql', find: '  FOR KEY SHARE OF w\n', replace: '' }],
    tests: [EVENTS],
  },
  {
    name: 'the callback secret is shown to whoever asks',
    why: 'A secret is shown once.',
    edits: [
      { file: OWNERS, find: "    await trx('webhooks').where({ id }).update({ is_shown: true })\n", replace: '' },
    ],
    tests: [SECRETS],
  },
  {
    name: 'operators are told by every worker that an upstream works again',
    why: 'It is one recovery, whoever saw it.',
    edits: [
      {
        file: 'sql/tell_of_recovery.sql',
        find: 'upstream = recovered AND recovered_at IS NULL',
        replace: 'upstream = recovered',
      },
    ],
    tests: [OPERATORS_EVENTS],
  },
  {
    name: 'operators are not told of what the reconciler refunds',
    why: 'It is written in the transaction that refunds.',
    edits: [{ file: 'src/workers/reconciler.ts', find: '{ ...guard, reconciled: true }', replace: 'guard' }],
    tests: [OPERATORS_EVENTS],
  },
  {
    name: 'operators are told that an upstream works again by a worker beside the one that cannot reach it',
    why: 'A circuit that opens again and again is not over.',
    edits: [
      {
        file: 'src/shared/operators/upstreams.ts',
        find: "now() - interval '2 minutes'",
        replace: "now() + interval '2 minutes'",
      },
    ],
    tests: [OPERATORS_EVENTS],
  },
  {
    name: 'an upstream whose circuit has closed is not known to work',
    why: 'The first success after an opening is told.',
    edits: [
      {
        file: 'src/workers/upstreams/circuits.ts',
        find: '    this.isKnownToWork = false\n    this.listener.opened(this.name)',
        replace: '    this.listener.opened(this.name)',
      },
    ],
    tests: [HEALTH],
  },
]
