import type { Edit } from '../tree-copy.ts'

/** A bug to be mutant into a copy of the tree, and the quick tests that must notice it. */
export type Mutant = { name: string; why: string; edits: Edit[]; tests: string[] }

const SCHEDULES = 'test/crash/schedules.test.ts'
const CUTS = 'test/crash/cuts.test.ts'
const MOMENTS = 'test/crash/failpoints.test.ts'
const VERBS = 'test/shared/calls/verbs.test.ts'
const DEBTS = 'test/shared/calls/debts.test.ts'
const BATCHES = 'test/shared/calls/batches.test.ts'
const PRICING = 'test/shared/calls/pricing.test.ts'
const PRECHARGE = 'test/upstreams/precharge.test.ts'

const OPEN_SQL = 'sql/open_calls.sql'
const END_SQL = 'sql/end_calls.sql'
const LOTS_SQL = 'sql/spendable_lots.sql'
const CALLS = 'src/shared/calls/calls.ts'
const STATEMENTS = 'src/shared/calls/statements.ts'
const PLACE = 'src/api/v1/place-call.ts'
const PROCESSOR = 'src/workers/calls/processor.ts'
const MEDIA = 'src/workers/calls/media.ts'
const RECONCILER = 'src/workers/reconciler.ts'

const STATUS_GUARD: Edit = {
  file: END_SQL,
  find: "WHERE o.nth = 1 AND c.status IN ('queued', 'running')",
  replace: 'WHERE o.nth = 1',
}

const money: Mutant[] = [
  {
    name: 'a call can be ended twice',
    why: 'Without the status guard of end_calls only constraints stand between a late outcome and a second refund.',
    edits: [STATUS_GUARD],
    tests: [SCHEDULES],
  },
  {
    name: 'a call can be ended twice, and no index objects',
    why: 'The guard and the wall behind it gone together.',
    edits: [
      STATUS_GUARD,
      {
        file: 'migrations/002_accounts_and_money.ts',
        find: 'CREATE UNIQUE INDEX ledger_entries_once_per_call',
        replace: 'CREATE INDEX ledger_entries_once_per_call',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a call can be ended twice, and no trigger objects',
    why: 'The guard and the other wall behind it.',
    edits: [
      STATUS_GUARD,
      {
        file: 'sql/check_ledger.sql',
        find: 'CREATE TRIGGER ledger_entries_match_calls AFTER INSERT',
        replace: 'CREATE TRIGGER ledger_entries_match_calls AFTER DELETE',
      },
      {
        file: 'sql/check_ledger.sql',
        find: 'REFERENCING NEW TABLE AS inserted',
        replace: 'REFERENCING OLD TABLE AS inserted',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'a frozen worker refunds what another works on',
    why: 'The attempt is the fence of a refund.',
    edits: [{ file: END_SQL, find: 'AND (o.attempt IS NULL OR o.attempt = c.attempts)', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a refund of a lost job ignores that the call runs',
    why: 'A job may be taken though nobody heard of it.',
    edits: [{ file: END_SQL, find: 'AND (o.from_status IS NULL OR o.from_status = c.status)', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'a waiter refunds before the deadline',
    why: 'Looking must not end what runs.',
    edits: [{ file: END_SQL, find: 'AND (o.overdue IS NOT TRUE OR c.deadline_at < now())', replace: '' }],
    tests: [VERBS, SCHEDULES],
  },
  {
    name: 'check, then spend',
    why: 'Without the lock on the account two requests see one balance.',
    edits: [
      {
        file: OPEN_SQL,
        find: `  PERFORM 1 FROM users u WHERE u.id = ANY (accounts) ORDER BY u.id FOR NO KEY UPDATE;

  IF cardinality`,
        replace: '  IF cardinality',
      },
    ],
    tests: [SCHEDULES, VERBS, BATCHES],
  },
  {
    name: 'expired lots can be spent',
    why: 'An expired grant pays for nothing from that moment.',
    edits: [
      { file: LOTS_SQL, find: 'AND g.open AND (g.expires_at IS NULL OR g.expires_at > now())', replace: 'AND g.open' },
    ],
    tests: [VERBS],
  },
  {
    name: 'credits go back to the wrong lot',
    why: 'A refund gives back to the very grants it came from.',
    edits: [
      {
        file: END_SQL,
        find: 'SELECT x.id AS call_id, x.user_id, x.turn, x.status, charged.grant_id,',
        replace:
          'SELECT x.id AS call_id, x.user_id, x.turn, x.status, (SELECT g.id FROM grants g WHERE g.user_id = x.user_id ORDER BY g.id DESC LIMIT 1) AS grant_id,',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the newest lot burns first',
    why: 'Charges take what expires first.',
    edits: [
      {
        file: LOTS_SQL,
        find: 'ORDER BY g.expires_at NULLS LAST, g.created_at, g.id)::bigint',
        replace: 'ORDER BY g.expires_at DESC NULLS LAST, g.created_at DESC, g.id DESC)::bigint',
      },
    ],
    tests: [VERBS],
  },
  {
    name: 'the order of an account is lost in a batch',
    why: 'Requests of one account are charged in the order in which they came.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'WINDOW account_order AS (PARTITION BY c.user_id ORDER BY c.place)',
        replace: 'WINDOW account_order AS (PARTITION BY c.user_id ORDER BY c.place DESC)',
      },
    ],
    tests: [BATCHES],
  },
  {
    name: 'one bad call fails its whole batch',
    why: 'Neighbours of one moment share a statement, not a fate.',
    edits: [
      {
        file: 'src/shared/infra/batcher.ts',
        find: 'else for (const one of batch) await send([one])',
        replace: 'else batch.forEach((one) => one.reject(error))',
      },
    ],
    tests: [BATCHES, 'test/shared/infra/batcher.test.ts'],
  },
  {
    name: 'a used idempotency key opens a second call',
    why: 'The duplicate check gone, the index answers with a defect.',
    edits: [{ file: OPEN_SQL, find: "WHEN same.id IS NOT NULL THEN 'exists'", replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'the bound of open calls is ignored',
    why: 'One account could fill every queue.',
    edits: [
      { file: OPEN_SQL, find: "WHEN c.outstanding_calls >= max_outstanding THEN 'too_many_calls'", replace: '' },
      {
        file: OPEN_SQL,
        find: "WHEN c.outstanding_calls + c.nth > max_outstanding THEN 'try_alone'",
        replace: 'WHEN false THEN NULL',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'an ended call keeps no result',
    why: 'The result is written with the settlement, or it can be lost between the two.',
    edits: [
      {
        file: END_SQL,
        find: 'now() + make_interval(secs => e.result_seconds) FROM ended e',
        replace: 'now() + make_interval(secs => e.result_seconds) FROM ended e WHERE false',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'debt is forgotten by a grant',
    why: 'The next credits repay first.',
    edits: [
      {
        file: 'src/shared/ledger/ledger.ts',
        find: 'return account.debt > 0 ? collectDebt(trx, lot.accountId) : balance',
        replace: 'return account.debt < 0 ? collectDebt(trx, lot.accountId) : balance',
      },
    ],
    tests: [DEBTS, SCHEDULES],
  },
  {
    name: 'debt is forgotten by a refund',
    why: 'Credits that come back are credits that the account gets.',
    edits: [{ file: END_SQL, find: 'IF owes THEN', replace: 'IF false THEN' }],
    tests: [DEBTS, SCHEDULES],
  },
  {
    name: "what a settlement leaves is nobody's debt",
    why: 'What was produced must be paid for one day.',
    edits: [{ file: END_SQL, find: 'debt = u.debt + s.uncollected,', replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'the bytes of requests are not given free again',
    why: 'An account would be shut out for good.',
    edits: [{ file: END_SQL, find: ', request_bytes = u.request_bytes - s.bytes', replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'grants expire beside a charge',
    why: 'Whoever moves credits holds the account first.',
    edits: [
      {
        file: 'src/shared/ledger/ledger.ts',
        find: "await trx('users').whereIn('id', accounts).orderBy('id').forNoKeyUpdate().select('id')",
        replace: '',
      },
    ],
    tests: ['test/shared/ledger', VERBS, SCHEDULES],
  },
]

const estimate: Mutant[] = [
  {
    name: 'an elided data: URI outside an image',
    why: 'Only an image is billed by a number; the bytes of a video or a file are billed like any other.',
    edits: [
      {
        file: 'src/shared/calls/pricing.ts',
        find: "if (part.type === 'image_url') bytes -= bytesOfDataUri(part.image_url)",
        replace: 'bytes -= bytesOfDataUri(part[String(part.type)])',
      },
    ],
    tests: [PRECHARGE, PRICING],
  },
  {
    name: 'only messages and tools are counted',
    why: 'An upstream bills every field that it reads.',
    edits: [
      {
        file: 'src/shared/calls/pricing.ts',
        find: 'let bytes = Buffer.byteLength(JSON.stringify(body))',
        replace: 'let bytes = Buffer.byteLength(JSON.stringify([body.messages, (body as { tools?: unknown }).tools]))',
      },
    ],
    tests: [PRECHARGE, PRICING],
  },
]

const path: Mutant[] = [
  {
    name: 'a lost acknowledgement refunds a call that runs',
    why: 'The refund of a call that could not be enqueued is for queued ones alone.',
    edits: [
      {
        file: PLACE,
        find: "gatewayError('service_unavailable'), { from: 'queued' }, 2000)",
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
        find: 'const together = await this.openTogether(request)',
        replace:
          'if (performance.now() - startedAt > 20) request.id = randomUUID() as CallId\n      const together = await this.openTogether(request)',
      },
    ],
    tests: [CUTS],
  },
  {
    name: 'a lost COMMIT is taken for a refusal',
    why: 'What is found under the own id is the own call.',
    edits: [{ file: CALLS, find: 'return row.existing_id === request.id', replace: 'return row.existing_id === null' }],
    tests: [CUTS, VERBS],
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
      await deps.publisher.ended({ callId: call.id, accountId: call.accountId, replyTo: call.replyTo, status: 'succeeded', balance: 0,
        answer: { status: 200, body: outcome.settlement.output } })
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
        find: 'return refundLost(deps, call, lost, { attempt: call.attempt, from: call.status })',
        replace: 'return refundLost(deps, call, lost, {})',
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
        find: 'run.call.resumed ? await findLost(deps, model, run) : await submit(deps, model, run)',
        replace: 'await submit(deps, model, run)',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'two runs of one moment are both the first',
    why: 'The clock tells no order of two transactions that wait for one row.',
    edits: [
      {
        file: STATEMENTS,
        find: 'started_by <> (:runs::uuid[])[array_position(:ids::uuid[], id)] AS resumed',
        replace: 'started_at < now() AS resumed',
      },
    ],
    tests: [MOMENTS],
  },
  {
    name: 'what was sent is handed back as unsent',
    why: 'The next worker would send it again.',
    edits: [
      {
        file: PROCESSOR,
        find: 'if (!maybeSent && !call.upstreamRef) await calls.requeue',
        replace: 'if (!call.upstreamRef) await calls.requeue',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the catalogue of today prices the call of yesterday',
    why: 'The price is pinned when the call opens.',
    edits: [
      {
        file: MEDIA,
        find: 'cost: costOf(call.price, { input: 0, output: 0 })',
        replace: 'cost: costOf(model.price, { input: 0, output: 0 })',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'settled before there is a result',
    why: 'An answer without choices is a failure, and failures are refunded.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/chat.ts',
        find: "if (!Array.isArray(choices) || choices.length === 0) throw malformedAnswer('the answer has no choices')",
        replace: 'if (!Array.isArray(choices)) return { ...answer, choices: [] } as unknown as ChatCompletion',
      },
    ],
    tests: ['test/upstreams/wrong-json.test.ts'],
  },
  {
    name: 'a cut stream is refunded',
    why: 'What was delivered is paid.',
    edits: [
      {
        file: 'src/workers/calls/chat-settlement.ts',
        find: "return counted > 0 ? { is: 'paid', tokens: cutTokens(evidence), finish: 'length' } : REFUNDED",
        replace: 'return REFUNDED',
      },
    ],
    tests: ['test/workers/calls/chat-settlement.test.ts', 'test/upstreams/cut-chats.test.ts'],
  },
  {
    name: 'a left stream is refunded',
    why: 'The upstream has the prompt once the request was sent.',
    edits: [
      {
        file: 'src/workers/calls/chat-settlement.ts',
        find: "return sent ? { is: 'paid', tokens: cutTokens(evidence), finish: 'cancelled' } : REFUNDED",
        replace: 'return REFUNDED',
      },
    ],
    tests: ['test/workers/calls/chat-settlement.test.ts', 'test/upstreams/cut-chats.test.ts'],
  },
  {
    name: 'a client that leaves cancels its call',
    why: 'A waiting call goes on without its client.',
    edits: [
      {
        file: 'src/api/v1/answer.ts',
        find: '  placed.wait.cancel()\n  await noteLeft',
        replace:
          "  placed.wait.cancel()\n  await deps.calls.refund(placed.callId, { type: 'upstream_failed', message: '', param: null, code: 'upstream_failed' })\n  await noteLeft",
      },
    ],
    tests: ['test/api/v1/coming-back.test.ts', 'test/api/v1/long-calls.test.ts', 'test/api/v1/idempotency.test.ts'],
  },
  {
    name: 'a lost reply is never looked for',
    why: 'A worker may die between its commit and its reply.',
    edits: [
      {
        file: 'src/shared/calls/replies.ts',
        find: 'if (this.waiters.size === 0) return',
        replace: 'if (this.waiters.size >= 0) return',
      },
    ],
    tests: [SCHEDULES],
  },
]

/** All bugs that the tests must find. */
export const MUTANTS: readonly Mutant[] = [...money, ...estimate, ...path]

/** The tests that judge most of them: these must pass where nothing is mutant. */
export const JUDGES = [SCHEDULES, VERBS, DEBTS, BATCHES, MOMENTS]
