/**
 * What an account made, used and paid, as the document tells it.
 */
import { z } from 'zod'
import { callsQuery } from '../console/calls.ts'
import { keyBody } from '../console/keys.ts'
import { ledgerQuery } from '../console/ledger.ts'
import { usageQuery } from '../console/usage.ts'
import { callList, callWithLedger, done, entryList, grantList, keyList, keyMade, usageList } from '../answers.ts'
import type { Operation } from './operation.ts'

const idOf = (what: string) => z.object({ id: z.string().meta({ description: `The \`id\` of a ${what}.` }) })

const keys = { tag: 'API keys', auth: 'session' } as const

const records = { tag: 'Records', auth: 'session', method: 'get' } as const

export const recordOperations: Operation[] = [
  {
    ...keys, method: 'post', path: '/api/keys', summary: 'Make an API key', body: keyBody,
    answers: { 200: { description: 'The key, with its secret: it is shown this once.', schema: keyMade } },
    errors: ['invalid_request', 'too_many_keys', 'rate_limited'],
  },
  {
    ...keys, method: 'get', path: '/api/keys', summary: 'List the API keys',
    answers: { 200: { description: 'The valid keys and the newest 1000 revoked ones, newest first.', schema: keyList } }, errors: [],
  },
  {
    ...keys, method: 'delete', path: '/api/keys/:id', summary: 'Revoke an API key', params: idOf('key'),
    description: 'From this moment the key is refused everywhere. Calls that were charged before go on.',
    answers: { 200: { description: 'It is revoked.', schema: done } }, errors: ['not_found'],
  },
  {
    ...records, path: '/api/calls', summary: 'List calls', query: callsQuery,
    answers: { 200: { description: 'A page of calls, newest first.', schema: callList } }, errors: ['invalid_request'],
  },
  {
    ...records, path: '/api/calls/:id', summary: 'Show a call and what it moved', params: idOf('call'),
    answers: { 200: { description: 'The call, and its ledger entries in their order.', schema: callWithLedger } },
    errors: ['not_found'],
  },
  {
    ...records, path: '/api/ledger', summary: 'List the movements of credits', query: ledgerQuery,
    answers: { 200: { description: 'A page of the ledger, newest first.', schema: entryList } },
    errors: ['invalid_request'],
  },
  {
    ...records, path: '/api/grants', summary: 'List the grants',
    description: 'What remains of them adds up to the balance.',
    answers: { 200: { description: 'All lots of credits, newest first.', schema: grantList } },
    errors: [],
  },
  {
    ...records, path: '/api/usage', summary: 'Usage by day and model', query: usageQuery,
    answers: { 200: { description: 'A row for each day and model with calls, oldest first.', schema: usageList } },
    errors: ['invalid_request'],
  },
]
