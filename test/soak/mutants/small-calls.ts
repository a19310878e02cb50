import type { Mutant } from './mutant.ts'
import { ADAPTER_OF_RERANK, MODERATIONS, RERANK, REQUEST_OF_RERANK, SCHEDULES } from './killing-tests.ts'

/** Bugs in moderations and rankings. */
export const OF_SMALL_CALLS: readonly Mutant[] = [
  {
    name: 'a free call passes a budget of 0',
    why: 'A budget of 0 allows nothing, not even a call that costs nothing.',
    edits: [{ file: 'sql/budget_allows.sql', find: 'budget > 0 AND used', replace: 'used' }],
    tests: [MODERATIONS],
  },
  {
    name: 'a free call passes an account in debt',
    why: 'Debt refuses every call, also one that costs nothing.',
    edits: [
      {
        file: 'sql/open_calls.sql',
        find: 'r.debt > 0 OR r.amount',
        replace: 'r.debt > 0 AND r.amount > 0 OR r.amount',
      },
    ],
    tests: [MODERATIONS],
  },
  {
    name: 'a model that the key may not call is taken where none is named',
    why: 'The first model that the key may call is taken.',
    edits: [
      {
        file: 'src/api/v1/calls/serve-call.ts',
        find: 'one.routes.length > 0 && mayCall(holder, one)',
        replace: 'one.routes.length > 0 && (mayCall(holder, one) || true)',
      },
    ],
    tests: [MODERATIONS],
  },
  {
    name: 'pictures of moderations are not looked up',
    why: 'A name that leads into the private network ends the call, whatever names it.',
    edits: [
      {
        file: 'src/workers/calls/references.ts',
        find: 'picturesOf(request).filter(isAddress)',
        replace: 'picturesOf(request).filter((url): url is string => isAddress(url) && false)',
      },
    ],
    tests: [MODERATIONS],
  },
  {
    name: 'every ranking is one search',
    why: 'Each further hundred documents is one more search.',
    edits: [
      {
        file: 'src/shared/requests/rerank.ts',
        find: 'Math.ceil(counted / DOCUMENTS_A_SEARCH)',
        replace: 'Math.min(1, Math.ceil(counted / DOCUMENTS_A_SEARCH))',
      },
    ],
    tests: [REQUEST_OF_RERANK],
  },
  {
    name: 'a long document counts as one',
    why: 'Upstreams bill a long document as several.',
    edits: [
      {
        file: 'src/shared/requests/rerank.ts',
        find: 'sum + Math.ceil((asked + tokensOf(text)) / documentTokens)',
        replace: 'sum + Math.min(1, Math.ceil((asked + tokensOf(text)) / documentTokens))',
      },
    ],
    tests: [REQUEST_OF_RERANK],
  },
  {
    name: 'places of a ranking are not checked against the list',
    why: 'A place that the list does not have, or has twice, is a failure of the upstream.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/rerank.ts',
        find: '!isPlace || seen.has(index as number)',
        replace: '!isPlace && seen.has(index as number)',
      },
    ],
    tests: [ADAPTER_OF_RERANK],
  },
  {
    name: 'a ranking is answered with the documents of its upstream',
    why: 'Documents are the own ones of the caller.',
    edits: [
      {
        file: 'src/workers/calls/run-rerank.ts',
        find: 'documents[one.index]',
        replace: 'documents[results.indexOf(one)]',
      },
    ],
    tests: [RERANK],
  },
  {
    name: 'what another worker has sent is handed back as unsent',
    why: 'It would be sent a second time: only chats are.',
    edits: [
      {
        file: 'src/workers/calls/run-call.ts',
        find: '(!call.resumed || !KINDS[call.modality].isSentOnce)',
        replace: 'call !== null',
      },
    ],
    tests: [SCHEDULES],
  },
]
