import type { Mutant } from './mutant.ts'
import {
  CHUNKS,
  CUTS,
  CUT_CHATS,
  ENDS,
  KILLED,
  LEFT_STREAMS,
  MOMENTS,
  PLACES,
  RETRIES,
  SCHEDULES,
  VERBS,
} from './killing-tests.ts'

const CALLS = 'src/shared/calls/calls.ts'
const PLACE = 'src/api/v1/calls/place-call.ts'
const PROCESSOR = 'src/workers/calls/processor.ts'
const MEDIA = 'src/workers/calls/run-media.ts'
const RECONCILER = 'src/workers/reconciler.ts'

/** Bugs on the path of a call between clients, processes and upstreams. */
export const CALL_PATH: readonly Mutant[] = [
  {
    name: 'a lost acknowledgement refunds a call that runs',
    why: 'The refund of a call that could not be enqueued is for queued ones alone.',
    edits: [
      {
        file: PLACE,
        find: "gatewayError('service_unavailable'), { attempt: 0 }, 2000)",
        replace: "gatewayError('service_unavailable'), {}, 2000)",
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a call is paid again after a lost COMMIT',
    why: 'A repeated charge must carry the same id.',
    edits: [
      {
        file: CALLS,
        find: 'retryWhileUnreachable(OPEN_PATIENCE_MS, () => this.openTogether(request))',
        replace: `retryWhileUnreachable(OPEN_PATIENCE_MS, () => {
      if (performance.now() - startedAt > 20) request.id = randomUUID() as CallId
      return this.openTogether(request)
    })`,
      },
    ],
    tests: [CUTS],
  },
  {
    name: 'a lost COMMIT is taken for a refusal',
    why: 'What is found under the own id is the own call.',
    edits: [{ file: CALLS, find: 'return row.existing_id === request.id', replace: 'return row.existing_id === null' }],
    tests: [VERBS, CUTS],
  },
  {
    name: 'an outcome is written once or never',
    why: 'A worker keeps trying while Postgres is away.',
    edits: [
      {
        file: CALLS,
        find: 'const ended = await retryWhileUnreachable(patienceMs, () => this.endTogether({ row, output }))',
        replace: 'const ended = await this.endTogether({ row, output })',
      },
    ],
    tests: [CUTS],
  },
  {
    name: 'the answer leaves before the commit',
    why: 'Whoever was answered 200 must find the call settled.',
    edits: [
      {
        file: PROCESSOR,
        find: "    case 'settled':\n",
        replace: `    case 'settled':
      await deps.publisher.ended({
        callId: call.id, accountId: call.accountId, replyTo: call.replyTo, status: 'succeeded', balance: 0,
        answer: { status: 200, body: outcome.settlement.output },
      })
`,
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the reconciler refunds by id alone',
    why: 'Between its look and its refund a worker may have begun.',
    edits: [
      {
        file: RECONCILER,
        find: "'The call was lost before it began.', { attempt: call.attempt })",
        replace: "'The call was lost before it began.', {})",
      },
    ],
    tests: [MOMENTS],
  },
  {
    name: 'a picture is asked for again after a crash',
    why: 'A second submission is a second bill.',
    edits: [
      {
        file: MEDIA,
        find: 'call.resumed ? await findLost(deps, model, run) : await submit(deps, model, run)',
        replace: 'await submit(deps, model, run)',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'what was sent is handed back as unsent',
    why: 'The next worker would send it again.',
    edits: [
      {
        file: 'src/workers/calls/run-call.ts',
        find: '  !maybeSent && !call.upstreamRef && (',
        replace: '  maybeSent !== null && !call.upstreamRef && (',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a migration keeps calls waiting for eight seconds',
    why: 'Whoever asks for a lock of a table keeps everybody waiting who comes after.',
    // Its time-out alone would end the wait after two, which a call on a busy machine may take anyway.
    edits: [
      { file: 'migrations/lock.ts', find: 'if (ended.aborted) return', replace: 'return' },
      { file: 'migrations/lock.ts', find: "const LOCK_TIMEOUT = '2s'", replace: "const LOCK_TIMEOUT = '8s'" },
    ],
    tests: ['test/migrations.test.ts'],
  },
  {
    name: 'a failed call has no upstream',
    why: 'Operators would see no failure of an upstream that fails every call.',
    edits: [
      { file: 'src/shared/calls/calls.ts', find: '        upstream: guard.upstream ?? undefined,\n', replace: '' },
    ],
    tests: ['test/upstreams/fallback.test.ts'],
  },
  {
    name: 'the catalogue of today prices the call of yesterday',
    why: 'The price is pinned when the call opens.',
    edits: [
      {
        file: 'src/workers/calls/run-chat.ts',
        find: 'settledCost(call.price as ChatPrice, tokens',
        replace: 'settledCost(model.price, tokens',
      },
      {
        file: PROCESSOR,
        find: 'deps.catalogue.at(catalogueVersion))',
        replace: 'deps.catalogue.at(null))',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a stream that was refunded in its queue is still sent',
    why: 'An upstream would bill for what nobody pays.',
    edits: [
      {
        file: 'src/api/v1/calls/streamed-answer.ts',
        find: "queues.removeCall('chat', placed.callId)",
        replace: 'Promise.resolve(queues)',
      },
    ],
    tests: [CUT_CHATS],
  },
  {
    name: 'a client that leaves cancels its call',
    why: 'A waiting call goes on without its client.',
    edits: [
      {
        file: 'src/api/v1/calls/answer-call.ts',
        find: '  stopWaiting(ctx, placed)\n  await recordAbandoned(ctx, deps, placed.callId)',
        replace: `  stopWaiting(ctx, placed)
  const error = { type: 'upstream_failed', message: '', param: null, code: 'upstream_failed' }
  await deps.calls.refund(placed.callId, error)`,
      },
    ],
    tests: ['test/api/v1/idempotency.test.ts', 'test/api/v1/coming-back.test.ts', 'test/api/v1/long-calls.test.ts'],
  },
  {
    name: 'a lost reply is never looked for',
    why: 'A worker may die between its commit and its reply.',
    edits: [
      {
        file: 'src/shared/replies/reply-channel.ts',
        find: 'if (this.waiters.size === 0) return',
        replace: 'if (this.waiters.size >= 0) return',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a cut stream is refunded',
    why: 'What was delivered is paid.',
    edits: [
      {
        file: 'src/shared/calls/chat-settlement.ts',
        find: "return counted > 0 ? { is: 'paid', tokens, finish: 'length' } : REFUNDED",
        replace: 'return REFUNDED',
      },
    ],
    tests: [ENDS, CUT_CHATS],
  },
  {
    name: 'an account holds more than its share of places',
    why: 'One account must not hold every place of a worker or of an upstream, whether others wait or not.',
    edits: [
      {
        file: 'src/shared/platform/places.ts',
        find: 'this.taken < total && this.heldBy(account) < shareOf(total, this.share)',
        replace: 'this.taken < total && this.heldBy(account) < total',
      },
    ],
    tests: [PLACES],
  },
  {
    name: 'a stream of a lost worker is refunded',
    why: 'What was delivered is paid, however many workers a customer can end.',
    edits: [
      {
        file: 'src/workers/calls/begin.ts',
        find: 'if (!(await queues.isLeftToReader(id, replyTo))) return',
        replace: 'if (queues) return',
      },
    ],
    tests: [KILLED],
  },
  {
    name: 'what does not fit into a publication is forgotten',
    why: 'The reader of a stream pays every word of it.',
    edits: [
      {
        file: 'src/workers/calls/chunk-relay.ts',
        find: 'if (relay.isWaiting) this.waiting.add(relay)',
        replace: '',
      },
    ],
    tests: [CHUNKS],
  },
  {
    name: 'the end of a call overtakes its last chunks',
    why: 'A stream whose end comes first is cut short, and was paid whole.',
    edits: [
      {
        file: 'src/workers/calls/chunk-relay.ts',
        find: 'if (!this.isWaiting && this.onItsWay === 0) return\n',
        replace: 'return\n',
      },
    ],
    tests: [CHUNKS],
  },
  {
    name: 'hidden reasoning is given away to whoever leaves before its report',
    why: 'The upstream bills it, and a customer can leave after the last word on purpose.',
    edits: [
      {
        file: 'src/workers/calls/streamed-answer.ts',
        find: 'if (!this.sent || !this.reasons || this.isReported) return',
        replace: 'if (this.reasons || !this.reasons) return',
      },
    ],
    tests: [LEFT_STREAMS],
  },
  {
    name: 'a left stream is refunded',
    why: 'The upstream has the prompt once the request was sent.',
    edits: [
      {
        file: 'src/shared/calls/chat-settlement.ts',
        find: "return sent ? { is: 'paid', tokens, finish: 'cancelled' } : REFUNDED",
        replace: 'return REFUNDED',
      },
    ],
    tests: [ENDS, CUT_CHATS],
  },
  {
    name: 'numbered retries that come together join one call',
    why: 'Each joins another call: one of them would get the answer of a call that it did not send.',
    edits: [
      {
        file: 'sql/claim_call.sql',
        find: '  PERFORM FROM accounts acc WHERE acc.id = of_account FOR NO KEY UPDATE;\n',
        replace: '',
      },
    ],
    tests: [RETRIES],
  },
]
