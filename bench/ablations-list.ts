import type { Edit } from '../scripts/tree-copy.ts'
import type { KeyChanges } from '../src/shared/accounts/key-limits.ts'

/**
 * An optimization, and the edits that take it out of a copy of the sources; or something that is off, and what turns it
 * on in the copy: the environment of its processes, or the limits of the key that calls it.
 */
export type Ablation = {
  name: string
  edits: Edit[]
  environment?: (upstreamPort: number) => Record<string, string>
  limits?: KeyChanges
}

const CHAT_BODY = 'src/api/v1/chat-body.ts'
const BATCHER = 'src/shared/infra/batcher.ts'
const PREPARED = 'src/shared/infra/prepared.ts'
const PROCESSOR = 'src/workers/calls/processor.ts'
const STATEMENTS = 'src/shared/calls/statements.ts'
/** What charges and ends calls, in `sql/`. */
const FUNCTIONS = ['open_calls', 'end_calls', 'open_plain_calls', 'end_usual_calls', 'open_one_call', 'end_one_call']

/** The rows of the table in docs/performance.md. The first changes nothing, and shows the noise. */
export const ABLATIONS: readonly Ablation[] = [
  { name: 'nothing (the noise)', edits: [] },
  {
    name: 'no endpoint for telemetry',
    edits: [],
    // The upstream answers everything at once, and so serves as one.
    environment: (port) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }),
  },
  {
    name: 'budgets, for a key without one',
    edits: [
      ...['open_plain_calls', 'end_usual_calls'].map((name) => ({
        file: `sql/${name}.sql`,
        find: ' AND NOT held.keys_limited',
        replace: '',
      })),
      ...['open_one_call', 'end_one_call'].map((name) => ({
        file: `sql/${name}.sql`,
        find: ' AND NOT acc.keys_limited',
        replace: '',
      })),
      ...['open_calls', 'end_calls'].map((name) => ({
        file: `sql/${name}.sql`,
        find: 'SELECT bool_or(held.keys_limited)',
        replace: 'SELECT bool_or(false)',
      })),
    ],
  },
  {
    name: 'no budget for the key',
    edits: [],
    limits: { budget: { credits: 1_000_000_000_000, period: 'month' } },
  },
  {
    name: 'concurrent calls share their statements',
    edits: [
      {
        file: BATCHER,
        find: '  return (item) =>\n    new Promise(',
        replace:
          '  if (Date.now() > 0) return async (item) => (await run([item]))[0]!\n  return (item) =>\n    new Promise(',
      },
    ],
  },
  {
    name: 'one statement of a kind at a time',
    edits: [{ file: BATCHER, find: '    if (busy) return\n', replace: '' }],
  },
  {
    name: 'a busy process pauses before its next statement',
    edits: [{ file: BATCHER, find: 'if (isBusy)', replace: 'if (isBusy && Date.now() < 0)' }],
  },
  {
    name: 'plain chats are looked at by hand',
    edits: [
      { file: CHAT_BODY, find: 'plainMessages(body.messages) ?? ', replace: '' },
      { file: CHAT_BODY, find: 'isPlainOption(name, value)', replace: 'Date.now() < 0' },
    ],
  },
  {
    name: 'named prepared statements',
    edits: [{ file: PREPARED, find: 'Object.assign(query, { name })', replace: 'query' }],
  },
  {
    name: 'short statements for the common case',
    edits: ['open_plain_calls', 'end_usual_calls', 'open_one_call', 'end_one_call'].map((name) => ({
      file: `sql/${name}.sql`,
      find: 'IF is_plain IS NOT TRUE THEN',
      replace: 'IF true THEN',
    })),
  },
  {
    name: 'a form of the statements for a call that is alone',
    edits: [
      { file: STATEMENTS, find: 'isPlain && requests.length === 1', replace: 'isPlain && requests.length < 1' },
      { file: STATEMENTS, find: 'items.length === 1\n', replace: 'items.length < 1\n' },
    ],
  },
  {
    name: 'kept plans within the functions of the money',
    edits: FUNCTIONS.map((name) => ({
      file: `sql/${name}.sql`,
      find: 'SET plan_cache_mode = force_generic_plan',
      replace: 'SET plan_cache_mode = auto',
    })),
  },
  {
    name: 'begin and renewal touch no index',
    edits: [
      {
        file: 'migrations/004_calls.ts',
        find: 'CREATE INDEX calls_open ON calls (created_at)',
        replace: 'CREATE INDEX calls_open ON calls (lease_until)',
      },
    ],
  },
  {
    name: 'the begin of a chat is written only where it lasts',
    edits: [{ file: PROCESSOR, find: 'takeUnwritten(job, catalogue) ?? ', replace: '' }],
  },
  {
    name: 'several queue workers of chat jobs a worker',
    edits: [{ file: 'src/workers/worker.ts', find: '{ chat: 4,', replace: '{ chat: 1,' }],
  },
  {
    name: 'the Redis commands of a turn in one write',
    edits: [
      {
        file: 'src/shared/infra/redis.ts',
        find: 'if (stream && !this.gathering) {',
        replace: 'if (stream && !this.gathering && Date.now() < 0) {',
      },
    ],
  },
  {
    name: 'news of a chat only where it takes longer',
    edits: [
      {
        file: PROCESSOR,
        find: "  if (call.modality === 'chat') return setTimeout(() => void publisher.begun(call), UPDATE_AFTER_MS)\n",
        replace: '',
      },
    ],
  },
  {
    name: 'log lines written together',
    edits: [
      {
        file: 'src/shared/infra/log.ts',
        find: '{ sync: false, minLength: 8192 }',
        replace: '{ sync: false }',
      },
    ],
  },
]
