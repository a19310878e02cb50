/**
 * What the console's pages ask for beyond the records, as the document tells it.
 */
import { accountState, events, modelList } from '../answers.ts'
import type { Operation } from './operation.ts'

const page = { tag: 'Records', auth: 'session', method: 'get' } as const

export const consoleOperations: Operation[] = [
  {
    ...page, tag: 'Account', path: '/api/account', summary: 'Show where the account stands',
    answers: { 200: { description: 'The account, its role, its balance and what open calls hold.', schema: accountState } },
    errors: [],
  },
  {
    ...page, path: '/api/models', summary: 'List the models',
    description: 'As `GET /v1/models`, for somebody who is logged in and has no key at hand.',
    answers: { 200: { description: 'The models that can be called.', schema: modelList } },
    errors: [],
  },
  {
    ...page, path: '/api/events', summary: 'Follow the account',
    description:
      'Server-sent events: `account` (where it stands), `call` (the record of a call that changed), `refresh` (changes may have been'
      + ' missed: ask again), `signed_out` (the session is over). A comment every 15 s. Ends within a minute after its session.',
    answers: {
      200: { description: 'The stream.', content: { 'text/event-stream': events('The events, as they come.') } },
    },
    errors: ['rate_limited'],
  },
]
